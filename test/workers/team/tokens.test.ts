import { beforeAll, describe, expect, it } from "vitest";
import { call, createToken, initialized, tokenUnder } from "../../support/service.ts";
import {
  api,
  createOrganization,
  createTeam,
  errorOf,
  generateToken,
  idsOf,
  list,
  resource,
  statusOf,
} from "../../support/teams.ts";

const NOT_FOUND = {
  status: "404",
  title: "not found",
  detail: "there is no such resource, or you may not see it",
};

let root: string;
let teamId: string;
let path: string;
let teams = 0;

beforeAll(async () => {
  root = await initialized();
  await createOrganization(root, "acme");
});

async function newTeam(): Promise<void> {
  teamId = await createTeam(root, "acme", `team-${teams++}`);
  path = `teams/${teamId}/authentication-token`;
}

describe("generate", () => {
  beforeAll(newTeam);

  it("201: the token with its text, once", async () => {
    const answer = await api("POST", path, { token: root, body: resource("authentication-token", {}) });
    expect(answer.status).toBe(201);
    expect(answer.headers.get("Content-Type")).toBe("application/vnd.api+json");
    const { data } = answer.body;
    expect(data).toEqual({
      id: expect.stringMatching(/^at-[0-9A-Za-z]{16}$/),
      type: "authentication-tokens",
      attributes: {
        "team-name": "team-0",
        "created-at": expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        "last-used-at": null,
        "expired-at": null,
        description: null,
        token: expect.stringMatching(/^[0-9A-Za-z]{14}\.atlasv1\.[0-9A-Za-z]{67}$/),
      },
      relationships: {
        team: { data: { id: teamId, type: "teams" } },
        "created-by": { data: { id: expect.stringMatching(/^user-[0-9A-Za-z]{16}$/), type: "users" } },
      },
    });
    const shown = await api("GET", path, { token: root });
    expect(shown.status).toBe(200);
    expect(shown.body.data).toEqual({ ...data, attributes: { ...data.attributes, token: null } });
  });

  it("201: whatever clients leave out", async () => {
    const bodies = [
      { raw: "" },
      { body: { data: { type: "" } } },
      { body: { data: { type: "authentication-token" } } },
      { body: { data: { type: "authentication-tokens", attributes: { "expired-at": null, description: null } } } },
    ];
    for (const sent of bodies) expect((await api("POST", path, { token: root, ...sent })).status).toBe(201);
    // Nothing is sent, so nothing has to be said about what it is.
    const bare = await api("POST", path, { token: root, headers: { "Content-Type": "text/plain" } });
    expect(bare.status).toBe(201);
  });

  it("replaces the token that there was", async () => {
    const first = await generateToken(root, teamId);
    const second = await generateToken(root, teamId);
    expect(second.id).not.toBe(first.id);
    expect(await statusOf(first.text)).toBe(401);
    expect(await statusOf(second.text)).toBe(200);
    expect((await api("GET", `authentication-tokens/${first.id}`, { token: root })).status).toBe(404);
  });

  it("two at once: one token is valid after both, and the list agrees", async () => {
    const [a, b] = await Promise.all([generateToken(root, teamId), generateToken(root, teamId)]);
    const statuses = await Promise.all([a, b].map(({ text }) => statusOf(text)));
    expect([...statuses].sort()).toEqual([200, 401]);
    const good = statuses[0] === 200 ? a : b;
    const shown = await api("GET", path, { token: root });
    expect(shown.body.data.id).toBe(good.id);
    expect(idsOf(await list(root, "acme", "team-tokens"))).toEqual([good.id]);
  });

  it.each(["2099-12-31T23:59:59Z", "2099-12-31T23:59:59.5Z", "2099-12-31T23:59:59.123456789Z"])(
    "gives the end back as it was sent: %s",
    async (expiredAt) => {
      const body = resource("authentication-token", { "expired-at": expiredAt });
      const answer = await api("POST", path, { token: root, body });
      expect(answer.body.data.attributes["expired-at"]).toBe(expiredAt);
      expect((await api("GET", path, { token: root })).body.data.attributes["expired-at"]).toBe(expiredAt);
    },
  );

  it.each([
    ["the past", "2020-01-01T00:00:00Z"],
    ["no time", "2099-01-01"],
    ["no seconds", "2099-01-01T00:00Z"],
    ["another zone", "2099-01-01T00:00:00+01:00"],
    ["a day that does not exist", "2099-02-30T00:00:00Z"],
    ["a number", 4_102_444_800],
    ["an empty text", ""],
  ])("422: an end with %s", async (_, expiredAt) => {
    const body = resource("authentication-token", { "expired-at": expiredAt });
    const answer = await api("POST", path, { token: root, body });
    expect(answer.status).toBe(422);
    const error = errorOf(answer);
    expect(error).toMatchObject({ status: "422", source: { pointer: "/data/attributes/expired-at" } });
    if (expiredAt !== "") expect(JSON.stringify(answer.body)).not.toContain(String(expiredAt));
  });

  it.each([
    ["another type", { data: { type: "teams" } }, "/data/type"],
    ["the type of lists", { data: { type: "team-tokens" } }, "/data/type"],
    ["the type in capitals", { data: { type: "Authentication-Token" } }, "/data/type"],
    ["no type", { data: {} }, "/data/type"],
    ["no type beside attributes", { data: { attributes: { "expired-at": null } } }, "/data/type"],
    ["null for a type", { data: { type: null } }, "/data/type"],
    ["a type that is no text", { data: { type: 1 } }, "/data/type"],
    ["no data", {}, "/data"],
    ["data that is no object", { data: [] }, "/data"],
    ["attributes that are no object", { data: { type: "", attributes: [] } }, "/data/attributes"],
    ["a misspelt attribute", resource("", { "expires-at": "2099-01-01T00:00:00Z" }), "/data/attributes"],
    ["a description", resource("", { description: "CI" }), "/data/attributes/description"],
  ])("422: %s", async (_, body, pointer) => {
    const answer = await api("POST", path, { token: root, body });
    expect(answer.status).toBe(422);
    expect(errorOf(answer)).toMatchObject({ status: "422", title: "invalid attribute", source: { pointer } });
  });

  it("400: asked for wrapped, which must not be answered plainly", async () => {
    const before = await api("GET", path, { token: root });
    const answer = await api("POST", path, { token: root, headers: { "X-Vault-Wrap-TTL": "60s" } });
    expect(answer.status).toBe(400);
    expect(JSON.stringify(answer.body)).not.toContain("atlasv1");
    expect((await api("GET", path, { token: root })).body).toEqual(before.body);
  });

  it("404: another namespace", async () => {
    const answer = await api("POST", path, { token: root, headers: { "X-Vault-Namespace": "other" } });
    expect(answer.status).toBe(404);
  });

  it("400: a body that is not JSON", async () => {
    const answer = await api("POST", path, { token: root, raw: "{" });
    expect(answer.status).toBe(400);
    expect(errorOf(answer)).toMatchObject({ status: "400", title: "bad request" });
  });

  it("413: a body that is too large", async () => {
    const answer = await api("POST", path, { token: root, raw: `"${"x".repeat(1_048_576)}"` });
    expect(answer.status).toBe(413);
    expect(errorOf(answer)).toMatchObject({ status: "413" });
  });

  it("415: a body of another type", async () => {
    for (const type of ["application/json", "text/plain", "", "application/x-www-form-urlencoded"]) {
      const answer = await api("POST", path, {
        token: root,
        body: resource("", {}),
        headers: { "Content-Type": type },
      });
      expect(answer.status).toBe(415);
      expect(errorOf(answer)).toMatchObject({ status: "415", title: "unsupported media type" });
    }
    const withParameter = { "Content-Type": "Application/VND.api+json; charset=utf-8" };
    expect((await api("POST", path, { token: root, body: resource("", {}), headers: withParameter })).status).toBe(201);
  });

  it("404: a team that does not exist, in any spelling of its id", async () => {
    const forged = `${teamId.slice(0, -1)}${teamId.endsWith("A") ? "B" : "A"}`;
    for (const id of [forged, "team-AAAAAAAAAAAAAAAA", "team-", "x", `${teamId}A`]) {
      const answer = await api("POST", `teams/${id}/authentication-token`, { token: root });
      expect(answer.status).toBe(404);
      expect(errorOf(answer)).toEqual(NOT_FOUND);
    }
  });

  it("names the author: the same user for the same name, a team when a team asks", async () => {
    await call("PUT", "sys/policies/acl/rotate", {
      token: root,
      body: { policy: `path "teams/+/authentication-token" { capabilities = ["update"] }` },
    });
    const authorOf = async (token: string) =>
      (await api("POST", path, { token })).body.data.relationships["created-by"]?.data as { id: string };
    const named = async (display_name: string) =>
      authorOf((await createToken(root, { policies: ["rotate"], display_name })).client_token);
    const [ann, again, bob] = [await named("ann"), await named("ann"), await named("bob")];
    expect(again).toEqual(ann);
    expect(bob.id).not.toBe(ann.id);
    const own = await createTeam(root, "acme", `rotates-itself`, { "token-policies": ["rotate"] });
    const { text } = await generateToken(root, own);
    expect(await authorOf(text)).toEqual({ id: own, type: "teams" });
  });
});

describe("show", () => {
  beforeAll(newTeam);

  it("404: a team without a token", async () => {
    const answer = await api("GET", path, { token: root });
    expect(answer.status).toBe(404);
    expect(errorOf(answer)).toEqual(NOT_FOUND);
  });

  it("200: by the team, by the token's id and by the team's id", async () => {
    const { id } = await generateToken(root, teamId);
    const answers = await Promise.all(
      [path, `authentication-tokens/${id}`, `authentication-tokens/${teamId}`].map((p) =>
        api("GET", p, { token: root }),
      ),
    );
    for (const answer of answers) {
      expect(answer.status).toBe(200);
      expect(answer.body.data).toMatchObject({ id, type: "authentication-tokens", attributes: { token: null } });
      expect(answer.body).toEqual(answers[0]?.body);
    }
  });

  it("404: a token id that is unknown, forged or not one", async () => {
    const { id } = await generateToken(root, teamId);
    const replaced = (await generateToken(root, teamId)) && id;
    for (const other of [replaced, "at-AAAAAAAAAAAAAAAA", "at-1", `${replaced}1`, "4111797"]) {
      const answer = await api("GET", `authentication-tokens/${other}`, { token: root });
      expect(answer.status).toBe(404);
      expect(errorOf(answer)).toEqual(NOT_FOUND);
    }
  });

  it("200 after its end: it is shown, though it is not valid", async () => {
    await generateToken(root, teamId, "2099-01-01T00:00:00Z");
    expect((await api("GET", path, { token: root })).status).toBe(200);
  });

  it("404: a caller whose policies do not reach it gets the answer of a token that does not exist", async () => {
    const token = await tokenUnder(root, `path "cubbyhole/*" { capabilities = ["read"] }`);
    await generateToken(root, teamId);
    for (const [method, p] of [
      ["GET", path],
      ["POST", path],
      ["DELETE", path],
      ["GET", `authentication-tokens/${teamId}`],
      ["GET", "organizations/acme/team-tokens"],
      ["GET", "organizations/acme"],
      ["GET", "teams/nowhere/at/all"],
    ] as const) {
      const answer = await api(method, p, { token });
      expect(answer.status).toBe(404);
      expect(errorOf(answer)).toEqual(NOT_FOUND);
    }
  });

  it("200: a policy for the path without the base path", async () => {
    const token = await tokenUnder(root, `path "teams/+/authentication-token" { capabilities = ["read"] }`);
    expect((await api("GET", path, { token })).status).toBe(200);
    expect((await api("POST", path, { token })).status).toBe(404);
    expect((await api("DELETE", path, { token })).status).toBe(404);
  });

  it("401: no token, a made-up one, a revoked one", async () => {
    const { client_token: revoked } = await createToken(root);
    await call("POST", "auth/token/revoke-self", { token: revoked });
    for (const token of ["", "s.nonsense", revoked, "AAAAAAAAAAAAAA.atlasv1.".padEnd(90, "A")]) {
      const answer = await api("GET", path, token === "" ? {} : { token });
      expect(answer.status).toBe(401);
      expect(errorOf(answer)).toMatchObject({ status: "401", title: "unauthorized" });
      expect(answer.headers.get("WWW-Authenticate")).toBe("Bearer");
    }
  });

  it("405: a method that the path does not have", async () => {
    for (const method of ["PATCH", "PUT"]) {
      const answer = await api(method, path, { token: root });
      expect(answer.status).toBe(405);
      expect(errorOf(answer)).toMatchObject({ status: "405", title: "method not allowed" });
    }
  });
});

describe("delete", () => {
  beforeAll(newTeam);

  it("204, then 404: and the token is refused from then on", async () => {
    const { text } = await generateToken(root, teamId);
    expect(await statusOf(text)).toBe(200);
    const answer = await api("DELETE", path, { token: root });
    expect(answer.status).toBe(204);
    expect(answer.body).toBeNull();
    expect(await statusOf(text)).toBe(401);
    for (const method of ["GET", "DELETE"]) {
      const gone = await api(method, path, { token: root });
      expect(gone.status).toBe(404);
      expect(errorOf(gone)).toEqual(NOT_FOUND);
    }
  });

  it("by the token's id ends that token and no later one", async () => {
    const first = await generateToken(root, teamId);
    const second = await generateToken(root, teamId);
    expect((await api("DELETE", `authentication-tokens/${first.id}`, { token: root })).status).toBe(404);
    expect((await api("GET", path, { token: root })).body.data.id).toBe(second.id);
    expect((await api("DELETE", `authentication-tokens/${second.id}`, { token: root })).status).toBe(204);
    expect((await api("GET", path, { token: root })).status).toBe(404);
  });
});

describe("the three base paths", () => {
  it("serve the same", async () => {
    await newTeam();
    const { id } = await generateToken(root, teamId);
    for (const base of ["../", "../v1/", ""]) {
      const answer = await api("GET", `${base === "" ? "" : `../${base}`}${path}`, { token: root });
      expect(answer.status).toBe(200);
      expect(answer.body.data.id).toBe(id);
    }
  });
});
