import { createExecutionContext, listDurableObjectIds, runInDurableObject } from "cloudflare:test";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { TokenAuthority } from "../../../src/rpc/token-authority.ts";
import { teamRoute } from "../../../src/team/ids.ts";
import { Organization } from "../../../src/team/organization.ts";
import type { TeamToken } from "../../../src/team/record.ts";
import { organizationNamed, teamAt } from "../../../src/team/stubs.ts";
import { atNth } from "../../support/calls.ts";
import { crash } from "../../support/objects.ts";
import { madeIn } from "../../support/rows.ts";
import { bindings, call, createToken, initialized } from "../../support/service.ts";
import { api, createOrganization, createTeam, generateToken, list, resource } from "../../support/teams.ts";

let root: string;
let teamId: string;
let text: string;
let tokenId: string;

beforeAll(async () => {
  root = await initialized();
  await createOrganization(root, "acme");
  await call("PUT", "sys/policies/acl/policies-reader", {
    token: root,
    body: { policy: `path "sys/policies/acl" { capabilities = ["list"] }` },
  });
});

let teams = 0;
beforeEach(async () => {
  teamId = await createTeam(root, "acme", `team-${teams++}`);
  ({ text, id: tokenId } = await generateToken(root, teamId));
});

afterEach(() => {
  vi.useRealTimers();
});

const status = async (path: string, token = text) => (await api("GET", path, { token })).status;

describe("what a team token may do by itself", () => {
  it("look at itself and at its team, and nothing else", async () => {
    for (const path of [
      "account/details",
      `teams/${teamId}`,
      `teams/${teamId}/authentication-token`,
      `authentication-tokens/${tokenId}`,
      `authentication-tokens/${teamId}`,
    ]) {
      expect([path, await status(path)]).toEqual([path, 200]);
    }
    const other = await createTeam(root, "acme", `other-${teams}`);
    const { id: otherToken } = await generateToken(root, other);
    for (const path of [
      `teams/${other}`,
      `teams/${other}/authentication-token`,
      `authentication-tokens/${otherToken}`,
      "organizations/acme",
      "organizations/acme/team-tokens",
      "organizations",
    ]) {
      expect([path, await status(path)]).toEqual([path, 404]);
    }
    for (const [method, path] of [
      ["POST", `teams/${teamId}/authentication-token`],
      ["DELETE", `teams/${teamId}/authentication-token`],
      ["DELETE", `authentication-tokens/${tokenId}`],
      ["DELETE", `teams/${teamId}`],
      ["PATCH", `teams/${teamId}`],
    ] as const) {
      expect((await api(method, path, { token: text })).status).toBe(404);
    }
    expect(await status("account/details")).toBe(200);
  });

  it("200: account/details shows its service user", async () => {
    const answer = await api("GET", "account/details", { token: text });
    expect(answer.body.data).toEqual({
      id: expect.stringMatching(/^user-[0-9A-Za-z]{16}$/),
      type: "users",
      attributes: { username: `api-team_team-${teams - 1}`, "is-service-account": true, email: null },
      relationships: {
        "authenticated-resource": {
          data: { id: teamId, type: "teams" },
          links: { related: `/api/v2/teams/${teamId}` },
        },
      },
      links: {
        self: `/api/v2/users/${answer.body.data.id}`,
        "auth-token": `/api/v2/authentication-tokens/${tokenId}`,
      },
    });
  });
});

describe("a team token elsewhere in Grove", () => {
  it("has the policies of its team, at once", async () => {
    expect((await call("GET", "sys/policies/acl?list=true", { token: text })).status).toBe(403);
    const body = resource("teams", { "token-policies": [" Policies-Reader "] });
    const changed = await api("PATCH", `teams/${teamId}`, { token: root, body });
    expect(changed.body.data.attributes["token-policies"]).toEqual(["policies-reader"]);
    expect((await call("GET", "sys/policies/acl?list=true", { token: text })).status).toBe(200);
    expect((await call("GET", "sys/policies/acl/default", { token: text })).status).toBe(403);
    await api("PATCH", `teams/${teamId}`, { token: root, body: resource("teams", { "token-policies": [] }) });
    expect((await call("GET", "sys/policies/acl?list=true", { token: text })).status).toBe(403);
  });

  it("shows itself to look-ups, its own and others'", async () => {
    const self = await call("GET", "auth/token/lookup-self", { token: text });
    expect(self.status).toBe(200);
    const expected = {
      type: "team",
      display_name: `team-team-${teams - 1}`,
      path: `teams/${teamId}/authentication-token`,
      policies: [],
      meta: { organization: "acme", team: `team-${teams - 1}`, team_id: teamId },
      renewable: false,
      expire_time: null,
      ttl: 0,
    };
    expect(self.body.data).toMatchObject(expected);
    const other = await call("POST", "auth/token/lookup", { token: root, body: { token: text } });
    expect(other.body.data).toMatchObject(expected);
    await api("DELETE", `teams/${teamId}/authentication-token`, { token: root });
    expect((await call("POST", "auth/token/lookup", { token: root, body: { token: text } })).status).toBe(403);
    expect((await call("GET", "auth/token/lookup-self", { token: text })).status).toBe(403);
  });

  it("can't be renewed, revoked, given children or a cubbyhole", async () => {
    const rules = `path "auth/token/*" { capabilities = ["create", "update"] } path "cubbyhole/*" { capabilities = ["read"] }`;
    await call("PUT", "sys/policies/acl/token-user", { token: root, body: { policy: rules } });
    const body = resource("teams", { "token-policies": ["token-user", "default"] });
    await api("PATCH", `teams/${teamId}`, { token: root, body });
    for (const path of ["auth/token/renew-self", "auth/token/revoke-self", "auth/token/create"]) {
      const answer = await call("POST", path, { token: text, body: {} });
      expect([path, answer.status]).toEqual([path, 400]);
      expect(answer.body.errors[0]).toMatch(/^team tokens cannot/);
    }
    for (const path of ["auth/token/renew", "auth/token/revoke"]) {
      expect((await call("POST", path, { token: root, body: { token: text } })).status).toBe(400);
    }
    expect((await call("GET", "cubbyhole/x", { token: text })).status).toBe(400);
    const own = await call("POST", "sys/capabilities-self", { token: text, body: { paths: ["auth/token/x"] } });
    expect(own.body.capabilities).toEqual(["create", "update"]);
    const others = await call("POST", "sys/capabilities", {
      token: root,
      body: { token: text, paths: ["cubbyhole/x"] },
    });
    expect(others.body.capabilities).toContain("read");
    expect(await status("account/details")).toBe(200);
  });

  it("is shown to other Workers with its team", async () => {
    const authority = new TokenAuthority(createExecutionContext(), bindings);
    const meta = { organization: "acme", team: `team-${teams - 1}`, team_id: teamId };
    expect(await authority.lookup(text)).toEqual({
      found: true,
      holder: {
        type: "team",
        accessor: tokenId,
        displayName: `team-${meta.team}`,
        policies: [],
        identityPolicies: [],
        entityId: "",
        meta,
        path: `teams/${teamId}/authentication-token`,
        createdAt: expect.any(Number) as unknown,
        expiresAt: null,
        usesLeft: 0,
      },
    });
    expect(await authority.lookup(`${text.slice(0, -1)}!`)).toMatchObject({ found: false });
    await api("DELETE", `teams/${teamId}/authentication-token`, { token: root });
    expect(await authority.lookup(text)).toMatchObject({ found: false, reason: "unauthenticated" });
  });
});

describe("the end of a team token", () => {
  it("comes in the millisecond that was asked for", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const end = Date.now() + 3_600_000;
    const { text: ending } = await generateToken(root, teamId, new Date(end).toISOString());
    vi.setSystemTime(end - 1);
    expect(await status("account/details", ending)).toBe(200);
    vi.setSystemTime(end);
    expect(await status("account/details", ending)).toBe(401);
    expect((await call("GET", "auth/token/lookup-self", { token: ending })).status).toBe(403);
  });

  it("counts for a request during which the team asks its organization", async () => {
    await crash(teamAt(bindings, teamRoute(teamId)));
    const asked = atNth(Organization, "lifetimes", 1, async (proceed) => {
      expect((await api("DELETE", `authentication-tokens/${tokenId}`, { token: root })).status).toBe(204);
      return proceed();
    });
    expect([await status("account/details"), asked.calls.length]).toEqual([401, 1]);
  });
});

const NO_TOKEN: TeamToken = {
  tokenId: "at-x",
  description: null,
  createdAt: 0,
  createdBy: { type: "users", id: "user-x", name: "x" },
  expiresAt: null,
  expiredAt: null,
  lastUsedAt: null,
};

describe("a forged token or id", () => {
  it("wakes no object", async () => {
    const before = (await listDurableObjectIds(bindings.TEAM)).length;
    const flipped = (at: number, from = text) =>
      `${from.slice(0, at)}${from[at] === "A" ? "B" : "A"}${from.slice(at + 1)}`;
    // The head, the route, the random part and the tag.
    for (const at of [0, 23, 40, 89]) expect(await status("account/details", flipped(at))).toBe(401);
    for (const id of [flipped(6, teamId), flipped(teamId.length - 1, teamId)]) {
      expect(await status(`teams/${id}`, root)).toBe(404);
    }
    for (const id of [flipped(4, tokenId), flipped(12, tokenId), flipped(18, tokenId)]) {
      expect(await status(`authentication-tokens/${id}`, root)).toBe(404);
    }
    expect((await listDurableObjectIds(bindings.TEAM)).length).toBe(before);
  });

  it("writes nothing where an object has to be asked", async () => {
    for (const method of ["GET", "PATCH", "DELETE"]) await api(method, "organizations/nobody", { token: root });
    await list(root, "nobody", "teams");
    await list(root, "nobody", "team-tokens");
    await api("POST", "organizations/nobody/teams", { token: root, body: resource("teams", { name: "x" }) });
    const team = teamAt(bindings, "unknown1");
    await team.token("");
    await team.addToken({ ...NO_TOKEN, verifier: new Uint8Array(24) });
    expect(await team.unknownTokens("nobody", ["at-x"])).toEqual(["at-x"]);
    await team.removeTokens("nobody", ["at-x"]);
    await team.resync("org-x", 1);
    await team.update({ name: "x" });
    await team.remove();
    await team.removeToken("");
    await team.end("org-x");
    await team.authenticate(new Uint8Array(24), "use");
    expect((await team.compare("org-x")).revision).toBeNull();
    for (const stub of [organizationNamed(bindings, "nobody"), team]) {
      expect(await madeIn(stub as DurableObjectStub)).toEqual([]);
      await runInDurableObject(stub as DurableObjectStub, async (_, state) => {
        expect(await state.storage.getAlarm()).toBeNull();
      });
    }
  });
});

describe("last-used-at", () => {
  const shown = async () =>
    (await api("GET", `teams/${teamId}/authentication-token`, { token: root })).body.data.attributes["last-used-at"];
  const listed = async () => {
    const { data } = (await list(root, "acme", `team-tokens?q=team-${teams - 1}`)).body;
    return data[0]?.attributes["last-used-at"];
  };

  it("is exact in the team and right to a minute in the list", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const start = Date.UTC(2085, 5, 1);
    const use = async (seconds: number) => {
      vi.setSystemTime(start + seconds * 1000);
      expect(await status("account/details")).toBe(200);
    };
    const iso = (seconds: number) => new Date(start + seconds * 1000).toISOString();
    expect(await shown()).toBeNull();
    await use(0);
    expect([await shown(), await listed()]).toEqual([iso(0), iso(0)]);
    await use(59);
    expect([await shown(), await listed()]).toEqual([iso(59), iso(0)]);
    await use(60);
    expect([await shown(), await listed()]).toEqual([iso(60), iso(60)]);
  });

  it("is not moved by looking at the token", async () => {
    await shown();
    await call("POST", "auth/token/lookup", { token: root, body: { token: text } });
    expect(await shown()).toBeNull();
  });

  it("begins again with a new token", async () => {
    expect(await status("account/details")).toBe(200);
    expect(await shown()).not.toBeNull();
    await generateToken(root, teamId);
    expect([await shown(), await listed()]).toEqual([null, null]);
  });
});

describe("the audit log", () => {
  it("has requests of teams as all others, and never a token", async () => {
    const lines: string[] = [];
    vi.spyOn(console, "log").mockImplementation((line: string) => void lines.push(line));
    await api("GET", `teams/${teamId}`, { token: text });
    const generated = await generateToken(root, teamId);
    await api("GET", `teams/${teamId}`, { token: text });
    await api("GET", `authentication-tokens/${generated.text}`, { token: root });
    const { client_token } = await createToken(root, { policies: ["default"] });
    await api("GET", `teams/${teamId}`, { token: client_token });
    expect(
      lines
        .map((line) => JSON.parse(line))
        .filter(({ path, type }) => path !== "auth/token/create" && type === "response"),
    ).toMatchObject([
      {
        operation: "read",
        path: `teams/${teamId}`,
        status: 200,
        auth: { accessor: tokenId, display_name: `team-team-${teams - 1}`, token_type: "team" },
        token_hash: expect.stringMatching(/^hmac-sha256:/),
      },
      {
        operation: "update",
        path: `teams/${teamId}/authentication-token`,
        status: 201,
        auth: { display_name: "root" },
      },
      { path: `teams/${teamId}`, status: 401, error: "permission denied" },
      { path: "authentication-tokens/<token>", status: 404 },
      { path: `teams/${teamId}`, status: 404, error: "permission denied" },
    ]);
    expect(lines.join("\n")).not.toContain("atlasv1");
  });
});
