import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { issue } from "../../../src/auth/issue.ts";
import { loadInstallation } from "../../../src/system/installation.ts";
import { readServiceToken } from "../../../src/token/ids.ts";
import { tokenRoles } from "../../../src/token/roles/token-roles.ts";
import { bindings, call, createToken, initialized, tokenUnder } from "../../support/service.ts";
import { holdSweeps, locate } from "../../support/trees.ts";

let root: string;

beforeEach(holdSweeps);

beforeAll(async () => {
  root = await initialized();
});

afterEach(() => vi.useRealTimers());

const role = (name: string, body: unknown, token = root) => call("POST", `auth/token/roles/${name}`, { token, body });
const readRole = async (name: string) => (await call("GET", `auth/token/roles/${name}`, { token: root })).body.data;
const create = (name: string, body: unknown = {}, token = root) =>
  call("POST", `auth/token/create/${name}`, { token, body });
const self = (token: string) => call("GET", "auth/token/lookup-self", { token });

describe("reading and writing", () => {
  it("nothing, then the role, then nothing again", async () => {
    expect((await call("GET", "auth/token/roles/test", { token: root })).status).toBe(404);
    expect((await role("test", { allowed_policies: "default" })).status).toBe(204);
    // A policy that does not exist changes neither status nor body. The creation of a token names it.
    const unknown = await role("test", { allowed_policies: "absent,default" });
    expect([unknown.status, unknown.body]).toEqual([204, null]);
    expect((await create("test", { policies: ["absent"] })).body.warnings).toEqual(['Policy "absent" does not exist']);
    await role("test", { allowed_policies: "a", disallowed_policies: "b" });
    expect((await role("test", { orphan: true, disallowed_policies: "c" })).status).toBe(204);
    expect(await readRole("test")).toMatchObject({ name: "test", allowed_policies: ["a"], orphan: true });
    const listed = await call("GET", "auth/token/roles?list=true", { token: root });
    expect(listed.body.data.keys).toEqual(["test"]);
    for (let i = 0; i < 2; i++) {
      const deleted = await call("DELETE", "auth/token/roles/test", { token: root });
      expect([deleted.status, deleted.body]).toEqual([204, null]);
    }
    expect((await call("GET", "auth/token/roles/test", { token: root })).status).toBe(404);
    expect((await call("GET", "auth/token/roles?list=true", { token: root })).status).toBe(404);
  });

  it("names keep their case and follow the grammar", async () => {
    await role("App", { orphan: true });
    expect((await call("GET", "auth/token/roles/app", { token: root })).status).toBe(404);
    expect((await create("app")).body.errors).toEqual(["unknown role app"]);
    await call("DELETE", "auth/token/roles/App", { token: root });
    for (const good of ["a", "_", "a.b", "a-b_c.9"]) expect((await role(good, {})).status, good).toBe(204);
    for (const bad of ["-a", "a-", ".a", "a b", "a/b", "ä"]) {
      for (const path of [`roles/${encodeURI(bad)}`, `create/${encodeURI(bad)}`]) {
        const answer = await call("POST", `auth/token/${path}`, { token: root, body: {} });
        expect([answer.status, answer.body.errors], path).toEqual([404, ["unsupported path"]]);
      }
    }
    const long = await role("a".repeat(129), {});
    expect([long.status, long.body.errors]).toEqual([400, ["role name must not be longer than 128 characters"]]);
    for (const name of ["a", "_", "a.b", "a-b_c.9"]) await call("DELETE", `auth/token/roles/${name}`, { token: root });
  });

  it("lists by page, and continues after a name although it is gone", async () => {
    for (const name of ["r1", "r2", "r3", "r4"]) await role(name, {});
    const page = async (query: string) =>
      (await call("GET", `auth/token/roles?list=true&${query}`, { token: root })).body.data.keys;
    expect(await page("limit=2")).toEqual(["r1", "r2"]);
    await call("DELETE", "auth/token/roles/r2", { token: root });
    expect(await page("limit=2&after=r2")).toEqual(["r3", "r4"]);
    expect(await page("")).toEqual(["r1", "r3", "r4"]);
    const paged = await tokenUnder(root, 'path "auth/token/roles/" { capabilities = ["list"] pagination_limit = 1 }');
    const capped = await call("GET", "auth/token/roles?list=true", { token: paged });
    expect(capped.body.data.keys).toEqual(["r1"]);
    for (const name of ["r1", "r3", "r4"]) await call("DELETE", `auth/token/roles/${name}`, { token: root });
  });

  it("the first write needs create, later ones update", async () => {
    const creator = await tokenUnder(root, 'path "auth/token/roles/*" { capabilities = ["create"] }');
    const updater = await tokenUnder(root, 'path "auth/token/roles/*" { capabilities = ["update"] }');
    expect((await role("cu", { orphan: true }, updater)).status).toBe(403);
    expect((await role("cu", { orphan: true }, creator)).status).toBe(204);
    expect((await role("cu", { orphan: false }, creator)).status).toBe(403);
    expect(await readRole("cu")).toMatchObject({ orphan: true });
    expect((await role("cu", { orphan: false }, updater)).status).toBe(204);
    expect(await readRole("cu")).toMatchObject({ orphan: false });
  });

  it("two first writes at once by one who may only create: one wins", async () => {
    const creator = await tokenUnder(root, 'path "auth/token/roles/*" { capabilities = ["create"] }');
    const answers = await Promise.all([1, 2, 3].map((uses) => role("race", { token_num_uses: uses }, creator)));
    expect(answers.map(({ status }) => status).sort()).toEqual([204, 403, 403]);
  });

  it("a refused write changes nothing, and says why without the value", async () => {
    await role("kept", { token_period: "1h" });
    for (const body of [
      { token_period: "2h", token_type: "secret" },
      { token_period: "2h", path_suffix: "s" },
      { token_period: { secret: 1 } },
      { token_period: "2h", token_bound_cidrs: ["secret"] },
    ]) {
      const answer = await role("kept", body);
      expect(answer.status).toBe(400);
      expect(JSON.stringify(answer.body)).not.toContain("secret");
    }
    expect(await readRole("kept")).toMatchObject({ token_period: 3600 });
  });

  it("unknown fields are ignored without a body, and named beside other warnings", async () => {
    expect((await role("plain", { token_ttl: "1h" })).status).toBe(204);
    const answer = await role("plain", { period: 1, token_period: 1, token_ttl: "1h", role_name: "other" });
    expect([answer.status, answer.body.warnings]).toEqual([
      200,
      [
        "Both 'token_period' and deprecated 'period' value supplied, ignoring the deprecated value",
        "Endpoint ignored these unrecognized parameters: [token_ttl]",
        "Endpoint replaced the value of these parameters with the values captured from the endpoint's path: [role_name]",
      ],
    ]);
    expect((await call("GET", "auth/token/roles/other", { token: root })).status).toBe(404);
  });
});

describe("creation against a role", () => {
  it("orphan, path and suffix", async () => {
    await role("orphan", { orphan: true, path_suffix: "happenin" });
    const { auth } = (await create("orphan")).body;
    expect(auth.orphan).toBe(true);
    const { data } = (await self(auth.client_token)).body;
    expect([data.path, data.role, data.orphan]).toEqual(["auth/token/create/orphan/happenin", "orphan", true]);
  });

  it("a role's orphans outlive its creator, its children do not", async () => {
    await role("orphan", { orphan: true });
    await role("child", { orphan: false, allowed_policies: "default" });
    const parent = (await createToken(root, { policies: ["root"] })).client_token;
    const orphan = (await create("orphan", {}, parent)).body.auth.client_token;
    const child = (await create("child", { no_parent: true }, parent)).body.auth.client_token;
    await call("POST", "auth/token/revoke", { token: root, body: { token: parent } });
    expect((await self(orphan)).status).toBe(200);
    expect((await self(child)).status).toBe(403);
  });

  it("an unknown role makes nothing, least of all a token without one", async () => {
    const before = await call("GET", "auth/token/accessors?list=true", { token: root });
    const answer = await create("none", { policies: ["x"] });
    expect([answer.status, answer.body.errors]).toEqual([400, ["unknown role none"]]);
    const after = await call("GET", "auth/token/accessors?list=true", { token: root });
    expect(after.body.data.keys).toEqual(before.body.data.keys);
  });

  it("without the right to create nobody learns which roles exist", async () => {
    await role("exists", {});
    const nobody = await tokenUnder(root, 'path "auth/token/lookup-self" { capabilities = ["read"] }');
    for (const name of ["exists", "missing"]) {
      const answer = await create(name, {}, nobody);
      expect([answer.status, answer.body.errors]).toEqual([403, ["permission denied"]]);
    }
  });

  it("warns that a role in the body is not the one of the path", async () => {
    await role("one", {});
    const answer = await create("one", { role_name: "two", policies: ["default"] });
    expect(answer.body.warnings).toEqual([
      "Endpoint replaced the value of these parameters with the values captured from the endpoint's path: [role_name]",
    ]);
    expect((await self(answer.body.auth.client_token)).body.data.role).toBe("one");
  });

  it("a batch role gives batch tokens", async () => {
    await role("batch", { token_type: "batch", orphan: true, renewable: false, allowed_policies: "default" });
    const { auth } = (await create("batch", { type: "service" })).body;
    expect([auth.token_type, auth.orphan, auth.renewable]).toEqual(["batch", true, false]);
    expect((await self(auth.client_token)).body.data).toMatchObject({ type: "batch", role: "batch" });
    expect((await create("batch", {}, auth.client_token)).status).toBe(403);
  });

  it("a batch token can't create, whatever the role", async () => {
    const maker = await tokenUnder(root, 'path "auth/token/create*" { capabilities = ["update"] }');
    const made = await call("POST", "auth/token/create", { token: maker, body: { type: "batch" } });
    const answer = await create("none", {}, made.body.auth.client_token);
    expect([answer.status, answer.body.errors]).toEqual([400, ["batch tokens cannot create more tokens"]]);
  });

  it("token_no_default_policy keeps `default` away unless it is named, with and without lists", async () => {
    const policies = async (name: string, body: unknown, token = root) =>
      (await create(name, body, token)).body.auth.token_policies;
    await role("plain-bare", { token_no_default_policy: true });
    await role("listed-bare", { token_no_default_policy: true, allowed_policies: "a,b,default" });
    await role("refusing-bare", { token_no_default_policy: true, disallowed_policies: "admin" });
    await role("plain-usual", {});
    expect(await policies("plain-usual", { policies: ["a"] })).toEqual(["a", "default"]);
    for (const name of ["plain-bare", "listed-bare", "refusing-bare"]) {
      expect(await policies(name, { policies: ["a"] }), name).toEqual(["a"]);
      expect(await policies(name, { policies: ["a", "default"] }), name).toEqual(["a", "default"]);
    }
    const maker = await tokenUnder(root, 'path "auth/token/create/*" { capabilities = ["update"] }');
    for (const name of ["plain-bare", "refusing-bare"]) {
      expect(await policies(name, {}, maker), name).toEqual([expect.stringMatching(/^rules-/)]);
    }
  });

  it("the lesser number of uses, counted", async () => {
    await role("uses", { token_num_uses: 2, allowed_policies: "default" });
    const { auth } = (await create("uses", { num_uses: 15 })).body;
    expect(auth.num_uses).toBe(2);
    expect((await self(auth.client_token)).body.data.num_uses).toBe(1);
    expect((await self(auth.client_token)).body.data.num_uses).toBe(-1);
    expect((await self(auth.client_token)).status).toBe(403);
  });

  it("the networks of a role bind, and children inherit them", async () => {
    const from = (address: string) => ({ "CF-Connecting-IP": address });
    const look = (token: string, address: string) =>
      call("GET", "auth/token/lookup-self", { token, headers: from(address) });
    await role("free", { token_bound_cidrs: [] });
    await role("bound", { token_bound_cidrs: "127.0.0.1/32,1.2.3.4/8,5.6.7.8/24" });
    const shown = ["127.0.0.1", "1.2.3.4/8", "5.6.7.8/24"];
    expect((await look((await create("free", { ttl: "1h" })).body.auth.client_token, "9.9.9.9")).status).toBe(200);
    const bound = (await create("bound", { ttl: "1h" })).body.auth.client_token;
    expect((await look(bound, "127.0.0.1")).body.data.bound_cidrs).toEqual(shown);
    expect((await look(bound, "5.6.7.200")).status).toBe(200);
    expect((await look(bound, "9.9.9.9")).body.errors).toEqual(["permission denied"]);
    const below = await call("POST", "auth/token/create", {
      token: bound,
      body: { ttl: "1h" },
      headers: from("127.0.0.1"),
    });
    expect((await look(below.body.auth.client_token, "127.0.0.1")).body.data.bound_cidrs).toEqual(shown);
    expect((await look(below.body.auth.client_token, "9.9.9.9")).status).toBe(403);
    expect((await look((await create("bound")).body.auth.client_token, "9.9.9.9")).status).toBe(200);
    await role("bound", { token_period: "1h" });
    expect((await look((await create("bound")).body.auth.client_token, "9.9.9.9")).status).toBe(403);
  });

  it("an alias must be allowed", async () => {
    await role("alias", { allowed_entity_aliases: "web-*" });
    const refused = await create("alias", { entity_alias: "db-1" });
    expect([refused.status, refused.body.errors]).toEqual([400, ["invalid 'entity_alias' value"]]);
    const long = await create("alias", { entity_alias: `web-${"x".repeat(600)}` });
    expect([long.status, long.body.errors]).toEqual([400, ["entity_alias is too long"]]);
  });

  it("a child whose creation had to wait for something else goes into its parent's tree", async () => {
    const parent = (await createToken(root, { policies: ["root"] })).client_token;
    const { stub, treeId, row } = await locate(parent);
    const installation = await loadInstallation(bindings);
    if (!installation.ok) throw new Error("not initialised");
    const answer = await stub.act({ kind: "lookup", target: { by: "token", ...(await credentialOf(parent)) } });
    if (!answer.ok || answer.value.kind !== "token") throw new Error("no token");
    const spec = { type: "service", orphan: false, expiresAt: null, record: answer.value.token } as const;
    const made = await issue(bindings, installation.value, spec, { treeId, row }, "");
    if (!made.ok) throw new Error(made.error.code);
    expect((await locate(made.value.clientToken)).treeId).toBe(treeId);
    expect((await self(made.value.clientToken)).body.data.orphan).toBe(false);
    await call("POST", "auth/token/revoke", { token: root, body: { token: parent } });
    expect((await self(made.value.clientToken)).status).toBe(403);
    expect(await issue(bindings, installation.value, spec, { treeId, row }, "")).toMatchObject({
      ok: false,
      error: { message: "parent token not found" },
    });
  });
});

describe("renewal of a role's tokens", () => {
  it("by the role's period, as it is now", async () => {
    await role("period", { token_period: "1h" });
    const { client_token, lease_duration } = (await create("period", { policies: ["default"] })).body.auth;
    expect(lease_duration).toBe(3600);
    const renewed = async (path: string, token: string, body: unknown) =>
      (await call("POST", `auth/token/${path}`, { token, body })).body.auth.lease_duration;
    expect(await renewed("renew-self", client_token, { increment: "5h" })).toBe(3600);
    await role("period", { token_period: "30m" });
    expect(await renewed("renew-self", client_token, {})).toBe(1800);
    expect(await renewed("renew", root, { token: client_token })).toBe(1800);
    const { accessor } = (await self(client_token)).body.data;
    expect(await renewed("renew-accessor", root, { accessor })).toBe(1800);
    await role("period", { token_period: 0 });
    expect(await renewed("renew-self", client_token, { increment: "2h" })).toBe(7200);
  });

  it("never past the role's explicit maximum", async () => {
    await role("max", { token_explicit_max_ttl: 10 });
    const { client_token } = (await create("max", { policies: ["default"] })).body.auth;
    expect((await self(client_token)).body.data.explicit_max_ttl).toBe(10);
    const renew = () => call("POST", "auth/token/renew-self", { token: client_token, body: { increment: 300 } });
    vi.useFakeTimers({ toFake: ["Date"] });
    const start = Date.now();
    vi.setSystemTime(start + 4000);
    expect((await renew()).body.auth.lease_duration).toBeLessThanOrEqual(7);
    vi.setSystemTime(start + 11_000);
    expect((await renew()).status).toBe(403);
    expect((await self(client_token)).status).toBe(403);
  });

  it("the lesser explicit maximum is on the token, and no later change of the role moves it", async () => {
    await role("fixed", { token_explicit_max_ttl: "2h" });
    const made = async (explicit_max_ttl: string | 0) =>
      (await create("fixed", { policies: ["default"], ttl: "10m", explicit_max_ttl })).body.auth.client_token;
    const tokens = [await made(0), await made("1h"), await made("3h")];
    const shown = async () => {
      const found = await Promise.all(tokens.map(self));
      return found.map(({ body }) => Number(body.data.explicit_max_ttl));
    };
    const renewed = async () => {
      const answers = [];
      for (const token of tokens) {
        answers.push(await call("POST", "auth/token/renew", { token: root, body: { token, increment: "9h" } }));
      }
      return answers.map(({ body }) => Math.ceil(Number(body.auth.lease_duration) / 3600));
    };
    expect(await shown()).toEqual([7200, 3600, 7200]);
    for (const token_explicit_max_ttl of ["2h", "30m", "8h", 0]) {
      await role("fixed", { token_explicit_max_ttl });
      expect([await renewed(), await shown()]).toEqual([
        [2, 1, 2],
        [7200, 3600, 7200],
      ]);
    }
  });

  it("a token without an explicit maximum gets none from a later change of its role", async () => {
    await role("open", {});
    const { client_token } = (await create("open", { policies: ["default"], ttl: "10m" })).body.auth;
    await role("open", { token_explicit_max_ttl: "20m" });
    const renewed = await call("POST", "auth/token/renew-self", { token: client_token, body: { increment: "1h" } });
    expect(renewed.body.auth.lease_duration).toBe(3600);
    expect((await self(client_token)).body.data.explicit_max_ttl).toBe(0);
  });

  it("a batch token shows the explicit maximum of its role", async () => {
    await role("short-batch", { token_explicit_max_ttl: "5m", token_type: "default-batch" });
    const { client_token, lease_duration } = (await create("short-batch", { policies: ["default"] })).body.auth;
    const { data } = (await self(client_token)).body;
    expect([lease_duration, data.type, data.explicit_max_ttl, data.creation_ttl]).toEqual([300, "batch", 300, 300]);
  });

  it("the lesser period is on the token: a role that drops its own does not lengthen it", async () => {
    await role("periods", { token_period: "1h" });
    const made = await create("periods", { policies: ["default"], period: "2h" });
    const { client_token } = made.body.auth;
    expect(made.body.warnings).toEqual([
      "Period specified both during creation call and in role; using the lesser value of 3600 seconds",
    ]);
    const renewed = async () =>
      (await call("POST", "auth/token/renew-self", { token: client_token, body: { increment: "9h" } })).body.auth
        .lease_duration;
    expect((await self(client_token)).body.data.period).toBe(3600);
    await role("periods", { token_period: 0 });
    expect(await renewed()).toBe(3600);
    await role("periods", { token_period: "5h" });
    expect(await renewed()).toBe(3600);
    await role("periods", { token_period: "30m" });
    expect(await renewed()).toBe(1800);
  });

  it("ends with the role", async () => {
    await role("gone", {});
    const { client_token } = (await create("gone", { policies: ["default"] })).body.auth;
    const fixed = (await create("gone", { policies: ["default"], renewable: false })).body.auth.client_token;
    await call("DELETE", "auth/token/roles/gone", { token: root });
    const renew = (token: string) => call("POST", "auth/token/renew", { token: root, body: { token } });
    const answer = await renew(client_token);
    expect([answer.status, answer.body.errors]).toEqual([
      400,
      ['failed to renew entry: original token role "gone" could not be found, not renewing'],
    ]);
    expect((await renew(fixed)).body.errors).toEqual(["lease is not renewable"]);
    expect((await self(client_token)).status).toBe(200);
  });
});

async function credentialOf(token: string) {
  const installation = await loadInstallation(bindings);
  const credential = installation.ok && (await readServiceToken(installation.value.keys, token));
  if (!credential) throw new Error("not a token");
  return { row: credential.row, verifier: credential.verifier };
}

it("a role that was changed elsewhere holds here within POLICY_CACHE_SECONDS, and one that was changed here at once", async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
  await call("POST", "auth/token/roles/aging", { token: root, body: { token_explicit_max_ttl: 100 } });
  const ttl = async () => {
    const answer = await call("POST", "auth/token/create/aging", { token: root, body: { policies: ["default"] } });
    return answer.body.auth?.lease_duration ?? answer.status;
  };
  expect(await ttl()).toBe(100);
  await call("POST", "auth/token/roles/aging", { token: root, body: { token_explicit_max_ttl: 90 } });
  expect(await ttl()).toBe(90);
  await tokenRoles(bindings).delete("aging");
  expect(await ttl()).toBe(90);
  vi.setSystemTime(Date.now() + 5_000);
  expect(await ttl()).toBe(400);
  vi.useRealTimers();
});
