import { createExecutionContext, listDurableObjectIds } from "cloudflare:test";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { TokenAuthority } from "../../../src/rpc/token-authority.ts";
import { teamRoute } from "../../../src/team/ids.ts";
import { reconcileTeams } from "../../../src/team/reconcile-teams.ts";
import { organizationNamed, teamAt, teamRoutesOf } from "../../../src/team/stubs.ts";
import { Team } from "../../../src/team/team.ts";
import { failing } from "../../support/calls.ts";
import { madeIn, storedText } from "../../support/rows.ts";
import { bindings, call, initialized, tokenUnder } from "../../support/service.ts";
import { changeRows } from "../../support/storage-writer.ts";
import {
  type ApiResource,
  api,
  createOrganization,
  createTeam,
  describeToken,
  errorOf,
  type Generated,
  generateToken,
  idsOf,
  list,
  organizationWithTeam,
  ownersOf,
  resource,
  statusOf,
  teamsOf,
} from "../../support/teams.ts";

const NOW = Date.UTC(2085, 0, 1);
const DAY = 86_400_000;
const AUDIT = "?token=audit-trails";

let root: string;
let name: string;
let teamId: string;

beforeAll(async () => {
  root = await initialized();
});

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: NOW });
  ({ organization: name, teamId } = await organizationWithTeam(root));
});

afterEach(() => {
  vi.useRealTimers();
});

const pathOf = (query = "") => `organizations/${name}/authentication-token${query}`;
const iso = (ms: number) => new Date(ms).toISOString();

async function generate(query = "", attributes: Record<string, unknown> = {}, token = root): Promise<Generated> {
  const answer = await api("POST", pathOf(query), { token, body: resource("authentication-token", attributes) });
  if (answer.status !== 201) throw new Error(`${answer.status}: ${JSON.stringify(answer.body)}`);
  return { id: answer.body.data.id, text: answer.body.data.attributes.token as string };
}

const shown = (query = "", token = root) => api("GET", pathOf(query), { token });
const isGood = async (text: string) =>
  (await call("POST", "auth/token/lookup", { token: root, body: { token: text } })).status === 200;
const rotate = (id: string, attributes: Record<string, unknown>, token = root) =>
  api("POST", `authentication-tokens/${id}/actions/rotate`, {
    token,
    body: resource("authentication-tokens", { "overlap-seconds": 0, ...attributes }),
  });
const configure = async (attributes: Record<string, unknown>) =>
  expect(
    (await api("PATCH", `organizations/${name}`, { token: root, body: resource("organizations", attributes) })).status,
  ).toBe(200);
const holder = async () => {
  const { holderId } = (await organizationNamed(bindings, name).show(name)) ?? {};
  if (holderId === undefined) throw new Error("there is no holder");
  return teamAt(bindings, teamRoute(holderId));
};

describe("the token of an organization", () => {
  it("201: has its text once, and names no team", async () => {
    const answer = await api("POST", pathOf(), { token: root, body: resource("authentication-token", {}) });
    expect(answer.status).toBe(201);
    const { data } = answer.body;
    expect(data).toEqual({
      id: expect.stringMatching(/^at-[0-9A-Za-z]{16}$/),
      type: "authentication-tokens",
      attributes: {
        "created-at": iso(NOW),
        "last-used-at": null,
        "expired-at": null,
        description: null,
        token: expect.stringMatching(/^[0-9A-Za-z]{14}\.atlasv1\.[0-9A-Za-z]{67}$/),
      },
      relationships: { "created-by": { data: { id: expect.stringMatching(/^user-/), type: "users" } } },
    });
    const expected = { ...data, attributes: { ...data.attributes, token: null } };
    expect((await shown()).body.data).toEqual(expected);
    expect((await api("GET", `authentication-tokens/${data.id}`, { token: root })).body.data).toEqual(expected);
  });

  it("201: whatever clients leave out", async () => {
    for (const sent of [
      { raw: "" },
      { body: { data: { type: "" } } },
      { body: resource("authentication-tokens", {}) },
    ]) {
      expect((await api("POST", pathOf(), { token: root, ...sent })).status).toBe(201);
    }
  });

  it("replaces the previous one; that of audit trails is another one", async () => {
    const [first, audit] = [await generate(), await generate(AUDIT)];
    const second = await generate();
    expect(await Promise.all([first, second, audit].map(({ text }) => isGood(text)))).toEqual([false, true, true]);
    expect((await shown()).body.data.id).toBe(second.id);
    expect((await shown(AUDIT)).body.data.id).toBe(audit.id);
    expect((await api("GET", `authentication-tokens/${first.id}`, { token: root })).status).toBe(404);
    expect((await api("DELETE", pathOf(AUDIT), { token: root })).status).toBe(204);
    expect(await Promise.all([second, audit].map(({ text }) => isGood(text)))).toEqual([true, false]);
    expect((await shown(AUDIT)).status).toBe(404);
    expect((await api("DELETE", pathOf(AUDIT), { token: root })).status).toBe(404);
  });

  it("two at once: one token is valid after both", async () => {
    const made = await Promise.all([generate(), generate()]);
    const good = await Promise.all(made.map(({ text }) => isGood(text)));
    expect([...good].sort()).toEqual([false, true]);
    expect((await shown()).body.data.id).toBe(made[good[0] ? 0 : 1]?.id);
    expect((await teamRoutesOf(bindings)).filter((route) => route.startsWith("0")).length).toBeGreaterThan(0);
  });

  it("is made once, also when the organization stopped between the two writes", async () => {
    const fault = failing(Team, "create");
    expect((await api("POST", pathOf(), { token: root })).status).toBe(503);
    fault.end();
    const { holderId } = (await organizationNamed(bindings, name).show(name)) ?? {};
    await generate();
    expect((await organizationNamed(bindings, name).show(name))?.holderId).toBe(holderId);
  });

  it("404: without a token, without the organization, and for a name in another case", async () => {
    for (const method of ["GET", "DELETE"]) expect((await api(method, pathOf(), { token: root })).status).toBe(404);
    for (const other of ["nowhere", name.toUpperCase()]) {
      for (const method of ["GET", "POST", "DELETE"]) {
        const path = `organizations/${other}/authentication-token`;
        expect([method, (await api(method, path, { token: root })).status]).toEqual([method, 404]);
      }
    }
    expect(await madeIn(organizationNamed(bindings, "nowhere") as DurableObjectStub)).toEqual([]);
  });

  it.each([
    ["POST", "?token=audit_trails", 422],
    ["POST", "?token=audit-trails&token=audit-trails", 400],
    ["GET", "?token=all", 400],
    ["GET", "?tokens=audit-trails", 400],
    ["DELETE", "?token=all", 400],
    ["DELETE", "?kind=audit-trails", 400],
  ])("%s%s: %i, and nothing is made or deleted", async (method, query, status) => {
    const before = await generate();
    expect((await api(method, pathOf(query), { token: root })).status).toBe(status);
    expect((await shown()).body.data.id).toBe(before.id);
  });

  it("422: a query of kinds where a team's token is asked for", async () => {
    const path = `teams/${teamId}/authentication-token`;
    expect((await api("POST", `${path}${AUDIT}`, { token: root })).status).toBe(422);
    expect((await api("GET", path, { token: root })).status).toBe(404);
  });

  it.each([
    [{ description: "CI" }, "/data/attributes"],
    [{ "expires-at": "2099-01-01T00:00:00Z" }, "/data/attributes"],
    [{ "expired-at": "2020-01-01T00:00:00Z" }, "/data/attributes/expired-at"],
  ])("422: %o", async (attributes, pointer) => {
    const answer = await api("POST", pathOf(), { token: root, body: resource("authentication-token", attributes) });
    expect(answer.status).toBe(422);
    expect(errorOf(answer)).toMatchObject({ source: { pointer } });
  });

  it("ends in the millisecond that was asked for, and is shown as it was asked for", async () => {
    const { text } = await generate("", { "expired-at": "2085-01-02T00:00:00Z" });
    expect((await shown()).body.data.attributes["expired-at"]).toBe("2085-01-02T00:00:00Z");
    vi.setSystemTime(NOW + DAY - 1);
    expect(await statusOf(text)).toBe(200);
    vi.setSystemTime(NOW + DAY);
    expect(await statusOf(text)).toBe(401);
  });

  it("is in no list of teams or of their tokens, which delete none of it", async () => {
    const { id, text } = await generate();
    expect(await teamsOf(root, name)).toHaveLength(1);
    expect(idsOf(await list(root, name, "team-tokens"))).toEqual([]);
    const body = { data: [{ type: "authentication-tokens", id }] };
    expect((await api("DELETE", `organizations/${name}/team-tokens`, { token: root, body })).status).toBe(422);
    expect(await isGood(text)).toBe(true);
  });

  it("can be deleted by its id", async () => {
    const { id, text } = await generate();
    expect((await api("DELETE", `authentication-tokens/${id}`, { token: root })).status).toBe(204);
    expect(await isGood(text)).toBe(false);
    expect((await shown()).status).toBe(404);
  });

  it("is stored as a keyed hash, and its holder can't be named as a team", async () => {
    const { text } = await generate();
    expect(await storedText(await holder())).not.toContain(text.slice(23));
    const { holderId = "" } = (await organizationNamed(bindings, name).show(name)) ?? {};
    for (const path of [`teams/${holderId}`, `authentication-tokens/${holderId}`]) {
      expect((await api("GET", path, { token: root })).status).toBe(404);
    }
    expect((await api("POST", `teams/${holderId}/authentication-token`, { token: root })).status).toBe(404);
  });
});

describe("what the token of an organization may do", () => {
  it("manage its teams and their tokens, and read its organization", async () => {
    const { text: token } = await generate();
    expect((await api("GET", `organizations/${name}`, { token })).status).toBe(200);
    expect((await api("GET", `organizations/${name}/token-ttl-policies`, { token })).status).toBe(200);
    const made = await api("POST", `organizations/${name}/teams`, { token, body: resource("teams", { name: "new" }) });
    expect(made.status).toBe(200);
    expect(made.body.data.attributes.permissions).toMatchObject({ "can-destroy": true });
    const { id } = made.body.data;
    const rename = resource("teams", { name: "renamed" });
    expect((await api("PATCH", `teams/${id}`, { token, body: rename })).status).toBe(200);
    const generated = await generateToken(token, id);
    const described = await describeToken(token, id, "CI");
    expect(await statusOf(generated.text)).toBe(200);
    expect((await rotate(described.id, {}, token)).status).toBe(201);
    expect((await api("DELETE", `authentication-tokens/${generated.id}`, { token })).status).toBe(204);
    const by = (await api("GET", `authentication-tokens/${described.id}`, { token })).body.data.relationships;
    expect(by["created-by"]?.data).toEqual({ id: name, type: "organizations" });
    expect((await api("DELETE", `teams/${id}`, { token })).status).toBe(204);
  });

  it("replace itself, and the token of audit trails", async () => {
    const first = await generate();
    const second = await generate("", {}, first.text);
    expect(await Promise.all([first, second].map(({ text }) => isGood(text)))).toEqual([false, true]);
    const audit = await generate(AUDIT, {}, second.text);
    expect((await shown(AUDIT, second.text)).body.data.id).toBe(audit.id);
    expect((await rotate(second.id, { "overlap-seconds": 0 }, second.text)).status).toBe(201);
    expect(await isGood(second.text)).toBe(false);
  });

  it("404: not what the owners may do beyond it, and nothing of others", async () => {
    const { text: token } = await generate();
    const owners = await ownersOf(root, name);
    const ownersToken = await generateToken(root, owners);
    const foreign = await createOrganization(root, `foreign-of-${name}`);
    const foreignTeam = await createTeam(root, foreign, "team");
    const foreignToken = await generateToken(root, foreignTeam);
    const team = resource("teams", { "sso-team-id": "x" });
    for (const [method, path, body] of [
      ["PATCH", `organizations/${name}`, resource("organizations", { "max-ttl-enabled": true })],
      ["DELETE", `organizations/${name}`],
      ["PATCH", `organizations/${name}/token-ttl-policies`, resource("organization-token-ttl-policies", {})],
      [
        "DELETE",
        `organizations/${name}/team-tokens`,
        { data: [{ type: "authentication-tokens", id: ownersToken.id }] },
      ],
      ["GET", `organizations/${name}/notification-configurations`],
      ["GET", "organizations"],
      ["POST", "organizations", resource("organizations", { name: `x-${name}`, email: "a@b" })],
      ["POST", `teams/${owners}/authentication-token`],
      ["POST", `teams/${owners}/authentication-tokens`, resource("authentication-tokens", { description: "x" })],
      ["DELETE", `teams/${owners}/authentication-token`],
      ["DELETE", `authentication-tokens/${ownersToken.id}`],
      ["DELETE", `authentication-tokens/${owners}`],
      ["POST", `authentication-tokens/${ownersToken.id}/actions/rotate`, resource("authentication-tokens", {})],
      ["PATCH", `teams/${owners}`, team],
      ["GET", `organizations/${foreign}`],
      ["GET", `organizations/${foreign}/authentication-token`],
      ["POST", `organizations/${foreign}/authentication-token`],
      ["PATCH", `teams/${foreignTeam}`, team],
      ["POST", `teams/${foreignTeam}/authentication-token`],
      ["GET", `authentication-tokens/${foreignToken.id}`],
    ] as const) {
      const answer = await api(method, path, { token, body });
      expect([method, path, answer.status]).toEqual([method, path, 404]);
    }
    expect((await api("GET", `teams/${owners}`, { token })).status).toBe(200);
    const policies = resource("teams", { "token-policies": ["default"] });
    expect((await api("PATCH", `teams/${teamId}`, { token, body: policies })).status).toBe(403);
    for (const path of ["sys/policies/acl?list=true", "auth/token/accessors?list=true", "cubbyhole/x"]) {
      expect((await call("GET", path, { token })).status).toBe(403);
    }
  });

  it("looks at itself, as the service user of its organization", async () => {
    const { id, text: token } = await generate();
    const account = await api("GET", "account/details", { token });
    expect(account.body.data).toMatchObject({
      type: "users",
      attributes: { username: `api-org_${name}`, "is-service-account": true },
      relationships: {
        "authenticated-resource": {
          data: { id: name, type: "organizations" },
          links: { related: `/api/v2/organizations/${name}` },
        },
      },
    });
    const expected = {
      type: "organization",
      display_name: `organization-${name}`,
      path: `organizations/${name}/authentication-token`,
      policies: [],
      meta: { organization: name, kind: "organization" },
    };
    const self = await call("GET", "auth/token/lookup-self", { token });
    expect(self.body.data).toMatchObject(expected);
    expect((await shown()).body.data.attributes["last-used-at"]).toBe(iso(NOW));
    for (const path of ["auth/token/renew-self", "auth/token/revoke-self", "auth/token/create"]) {
      expect((await call("POST", path, { token, body: {} })).status).toBeGreaterThanOrEqual(400);
    }
    const authority = new TokenAuthority(createExecutionContext(), bindings);
    expect(await authority.lookup(token)).toMatchObject({
      found: true,
      holder: { type: "organization", accessor: id, meta: { organization: name } },
    });
  });

  it("of audit trails: nothing but to read them", async () => {
    const { text: token } = await generate(AUDIT);
    expect((await api("GET", "organization/audit-trail", { token })).status).toBe(200);
    for (const path of ["account/details", `organizations/${name}`, `teams/${teamId}`]) {
      expect([path, (await api("GET", path, { token })).status]).toEqual([path, 404]);
    }
    for (const method of ["GET", "POST", "DELETE"]) {
      for (const query of ["", AUDIT]) expect((await api(method, pathOf(query), { token })).status).toBe(404);
    }
    expect((await call("GET", "auth/token/lookup-self", { token })).status).toBe(403);
  });
});

describe("a policy", () => {
  it("rules the tokens of an organization by its path, and those with an id below it", async () => {
    const { id } = await generate();
    const reader = await tokenUnder(
      root,
      `path "organizations/${name}/authentication-token" { capabilities = ["read"] }`,
    );
    expect((await shown("", reader)).status).toBe(200);
    expect((await api("POST", pathOf(), { token: reader })).status).toBe(404);
    expect((await api("GET", `authentication-tokens/${id}`, { token: reader })).status).toBe(404);
    const byId = await tokenUnder(
      root,
      `path "organizations/${name}/authentication-tokens/*" { capabilities = ["read", "update"] }`,
    );
    expect((await api("GET", `authentication-tokens/${id}`, { token: byId })).status).toBe(200);
    expect((await rotate(id, {}, byId)).status).toBe(201);
    expect((await shown("", byId)).status).toBe(404);
  });

  it("can limit which kind is made", async () => {
    const token = await tokenUnder(
      root,
      `path "organizations/${name}/authentication-token" {
        capabilities = ["update"]
        required_parameters = ["token"]
        allowed_parameters = { token = ["audit-trails"] }
      }`,
    );
    expect((await api("POST", pathOf(AUDIT), { token })).status).toBe(201);
    expect((await api("POST", pathOf(), { token })).status).toBe(404);
  });

  it("is not needed by the owners", async () => {
    const { text: token } = await generateToken(root, await ownersOf(root, name));
    const made = await generate("", {}, token);
    expect((await api("DELETE", pathOf(), { token })).status).toBe(204);
    expect(await isGood(made.text)).toBe(false);
  });
});

describe("rotation", () => {
  it("201: keeps the kind; the old one ends with the overlap", async () => {
    const [old, audit] = [await generate("", { "expired-at": iso(NOW + 90 * DAY) }), await generate(AUDIT)];
    const answer = await rotate(old.id, { "overlap-seconds": 60, "idempotency-key": "a key that nobody else has" });
    expect(answer.status).toBe(201);
    const again = await rotate(old.id, { "overlap-seconds": 60, "idempotency-key": "a key that nobody else has" });
    expect(again.body).toEqual(answer.body);
    const next = answer.body.data as ApiResource;
    expect((await shown()).body.data.id).toBe(next.id);
    expect((await shown(AUDIT)).body.data.id).toBe(audit.id);
    const text = next.attributes.token as string;
    expect(await Promise.all([old.text, text].map(isGood))).toEqual([true, true]);
    expect((await api("GET", `organizations/${name}/teams`, { token: text })).status).toBe(200);
    vi.setSystemTime(NOW + 60_000);
    expect(await Promise.all([old.text, text].map(isGood))).toEqual([false, true]);
    expect((await rotate(old.id, {})).status).toBe(422);
  });

  it("two at once: one of them is a 422", async () => {
    const { id } = await generate();
    const answers = await Promise.all([rotate(id, {}), rotate(id, {})]);
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 422]);
  });
});

describe("the rules of an organization for lifetimes", () => {
  const limit = async (kind: string, ms: number) => {
    const body = resource("organization-token-ttl-policies", {
      "token-ttl-policies": [{ "token-type": kind, "max-ttl-ms": ms }],
    });
    const answer = await api("PATCH", `organizations/${name}/token-ttl-policies`, { token: root, body });
    expect(answer.status).toBe(200);
  };

  it("24 months: off by default; then of tokens of teams and of the organization, not of audit trails", async () => {
    vi.setSystemTime(Date.UTC(2086, 10, 29, 12));
    await generate();
    expect((await shown()).body.data.attributes["expired-at"]).toBeNull();
    await configure({ "end-tokens-after-24-months": true });
    // 2088 is a leap year: 731 days.
    await generate();
    expect((await shown()).body.data.attributes["expired-at"]).toBe("2088-11-29T12:00:00.000Z");
    await generate(AUDIT);
    expect((await shown(AUDIT)).body.data.attributes["expired-at"]).toBeNull();
    const ofTeam = await describeToken(root, teamId, "CI");
    const read = await api("GET", `authentication-tokens/${ofTeam.id}`, { token: root });
    expect(read.body.data.attributes["expired-at"]).toBe("2088-11-29T12:00:00.000Z");
    await configure({ "default-team-token-ttl-ms": DAY });
    const short = await describeToken(root, teamId, "short");
    const shortRead = await api("GET", `authentication-tokens/${short.id}`, { token: root });
    expect(shortRead.body.data.attributes["expired-at"]).toBe("2086-11-30T12:00:00.000Z");
    await generate("", { "expired-at": "2099-01-01T00:00:00Z" });
    expect((await shown()).body.data.attributes["expired-at"]).toBe("2099-01-01T00:00:00Z");
  });

  it("the policy of each kind bounds its tokens, also those made earlier", async () => {
    const [old, audit] = [await generate(), await generate(AUDIT)];
    const ofTeam = await generateToken(root, teamId);
    await limit("organization", DAY);
    await limit("audit_trails", 2 * DAY);
    await configure({ "max-ttl-enabled": true });
    const late = resource("", { "expired-at": iso(NOW + DAY + 1000) });
    expect((await api("POST", pathOf(), { token: root, body: late })).status).toBe(422);
    expect((await api("POST", pathOf(AUDIT), { token: root, body: late })).status).toBe(201);
    expect(await isGood(old.text)).toBe(true);
    vi.setSystemTime(NOW + DAY);
    expect(await Promise.all([old.text, ofTeam.text].map(isGood))).toEqual([false, true]);
    expect(await isGood(audit.text)).toBe(false);
    await generate();
    expect((await shown()).body.data.attributes["expired-at"]).toBe(iso(NOW + 2 * DAY));
  });
});

describe("with its organization", () => {
  it("ends, from the answer on; one with the same name has none", async () => {
    const made = [await generate(), await generate(AUDIT)];
    const stub = await holder();
    expect((await api("DELETE", `organizations/${name}`, { token: root })).status).toBe(204);
    expect(await Promise.all(made.map(({ text }) => isGood(text)))).toEqual([false, false]);
    expect(await madeIn(stub as DurableObjectStub)).toEqual([]);
    await createOrganization(root, name);
    expect((await shown()).status).toBe(404);
    expect(await statusOf(made[0]?.text ?? "")).toBe(401);
  });

  it("leaves no token behind that was made at the same moment", async () => {
    await generate();
    const stub = await holder();
    const [made, removed] = await Promise.all([
      api("POST", pathOf(), { token: root }),
      api("DELETE", `organizations/${name}`, { token: root }),
    ]);
    expect(removed.status).toBe(204);
    expect([201, 404, 503]).toContain(made.status);
    if (made.status === 201) expect(await isGood(String(made.body.data.attributes.token))).toBe(false);
    expect(await madeIn(stub as DurableObjectStub)).toEqual([]);
  });

  it("is refused when the holder was left behind", async () => {
    const { text } = await generate();
    const fault = failing(Team, "end");
    expect((await api("DELETE", `organizations/${name}`, { token: root })).status).toBe(204);
    expect(await isGood(text)).toBe(false);
    fault.end();
  });

  it("is in backups and checked by tidy", async () => {
    await generate();
    const stub = await holder();
    const route = teamRoute((await organizationNamed(bindings, name).show(name))?.holderId ?? "");
    expect(await teamRoutesOf(bindings)).toContain(route);
    const before = await reconcileTeams(bindings);
    await changeRows(stub as DurableObjectStub, "tokens", { verifier: new Uint8Array(24) });
    expect((await reconcileTeams(bindings)).tampered).toBe(before.tampered + 1);
  });

  it("a second holder is refused by the organization", async () => {
    await generate();
    const record = await (await holder()).show();
    if (!record) throw new Error("there is no holder");
    const stranger = teamAt(bindings, "0strange");
    expect((await stranger.create({ ...record, teamId: "team-0strangexxxxxxxx" })).ok).toBe(false);
    expect(await madeIn(stranger as DurableObjectStub)).toEqual([]);
  });

  it("a holder takes no token of a team, and a team none of an organization", async () => {
    await generate();
    const token = {
      tokenId: "at-x",
      description: null,
      createdAt: NOW,
      createdBy: { type: "users", id: "user-x", name: "x" },
      expiresAt: null,
      expiredAt: null,
      lastUsedAt: null,
      verifier: new Uint8Array(24),
    } as const;
    expect((await (await holder()).addToken(token)).ok).toBe(false);
    expect((await teamAt(bindings, teamRoute(teamId)).addToken({ ...token, kind: "organization" })).ok).toBe(false);
  });
});

describe("find", () => {
  const find = async (token: string) =>
    (await call("POST", "sys/tokens/find", { token: root, body: { token } })).body.data;

  it("says whose it is, alive and ended", async () => {
    const { id, text } = await generate(AUDIT);
    const before = (await listDurableObjectIds(bindings.TEAM)).length;
    expect(await find(text)).toMatchObject({ state: "live", kind: "organization" });
    await api("DELETE", pathOf(AUDIT), { token: root });
    expect(await find(text)).toMatchObject({
      state: "ended",
      kind: "organization",
      credential: { metadata: { organization: name } },
    });
    expect(id).toMatch(/^at-0/);
    expect((await listDurableObjectIds(bindings.TEAM)).length).toBe(before);
  });
});

describe("the audit log", () => {
  it("names the token that was made and by whom, never its text", async () => {
    const lines: string[] = [];
    vi.spyOn(console, "log").mockImplementation((line: string) => void lines.push(line));
    const { id, text } = await generate();
    await api("GET", `organizations/${name}/teams`, { token: text });
    await api("DELETE", pathOf(AUDIT), { token: text });
    await api("DELETE", pathOf(), { token: text });
    const responses = lines.map((line) => JSON.parse(line)).filter(({ type }) => type === "response");
    expect(responses).toMatchObject([
      {
        operation: "update",
        path: pathOf(),
        status: 201,
        auth: { display_name: "root" },
        response: { auth: { accessor: id } },
      },
      { operation: "read", auth: { accessor: id, display_name: `organization-${name}`, token_type: "organization" } },
      { operation: "delete", status: 404 },
      { operation: "delete", status: 204, auth: { accessor: id } },
    ]);
    expect(lines.join("\n")).not.toContain("atlasv1");
  });
});
