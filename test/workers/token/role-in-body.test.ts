import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { call, initialized, tokenUnder } from "../../support/service.ts";
import { holdSweeps } from "../../support/trees.ts";

let root: string;

beforeEach(holdSweeps);

beforeAll(async () => {
  root = await initialized();
  for (const [name, body] of Object.entries({
    app: { allowed_policies: "app-admin", token_explicit_max_ttl: "1h" },
    "app-orphan": { allowed_policies: "app-admin", orphan: true },
    other: { allowed_policies: "other-admin" },
  })) {
    await call("POST", `auth/token/roles/${name}`, { token: root, body });
  }
});

const create = (token: string, body: unknown, endpoint = "create") =>
  call("POST", `auth/token/${endpoint}`, { token, body });
const self = async (token: string) => (await call("GET", "auth/token/lookup-self", { token })).body.data;
const accessors = async () => (await call("GET", "auth/token/accessors?list=true", { token: root })).body.data.keys;
const allows = (...rules: string[]) =>
  tokenUnder(root, rules.map((path) => `path "auth/token/${path}" { capabilities = ["update"] }`).join("\n"));

describe("a role that the body of auth/token/create names", () => {
  it("decides the token, as the path of the role does", async () => {
    const byBody = await create(root, { role_name: "app" });
    const byPath = await create(root, {}, "create/app");
    expect(byBody.body.warnings).toEqual(byPath.body.warnings);
    const [found, same] = await Promise.all([byBody, byPath].map(({ body }) => self(body.auth.client_token)));
    expect(found).toMatchObject({
      role: "app",
      path: "auth/token/create/app",
      policies: ["app-admin", "default"],
      explicit_max_ttl: 3600,
      orphan: false,
    });
    expect(Object.keys(found ?? {})).toEqual(Object.keys(same ?? {}));
  });

  it("is no way around the policies: auth/token/create alone makes nothing of it", async () => {
    const caller = await allows("create", "create-orphan");
    const before = await accessors();
    for (const endpoint of ["create", "create-orphan"]) {
      for (const role_name of ["app", "app-orphan", "missing"]) {
        const answer = await create(caller, { role_name }, endpoint);
        expect([answer.status, answer.body.errors], `${endpoint} ${role_name}`).toEqual([403, ["permission denied"]]);
      }
    }
    expect(await accessors()).toEqual(before);
    expect((await create(caller, {})).status).toBe(200);
  });

  it("is judged as its own path and no other", async () => {
    const caller = await allows("create/app");
    expect((await create(caller, { role_name: "app" })).body.auth.policies).toEqual(["app-admin", "default"]);
    expect((await create(caller, { role_name: "other" })).status).toBe(403);
    expect((await create(caller, {})).status).toBe(403);
    expect((await create(caller, { role_name: "" })).status).toBe(403);
    expect((await create(caller, { role_name: null })).status).toBe(403);
  });

  it("is denied where the policy denies its path, whatever is granted beside it", async () => {
    const caller = await tokenUnder(
      root,
      'path "auth/token/create*" { capabilities = ["update"] } path "auth/token/create/other" { capabilities = ["deny"] }',
    );
    expect((await create(caller, { role_name: "app" })).status).toBe(200);
    expect((await create(caller, { role_name: "other" })).status).toBe(403);
    expect((await create(caller, { role_name: "other" }, "create/app")).body.auth.policies).toContain("app-admin");
  });

  it("gives the sudo of its own path, not that of auth/token/create", async () => {
    const caller = await tokenUnder(
      root,
      `path "auth/token/create" { capabilities = ["update", "sudo"] }
       path "auth/token/create/app" { capabilities = ["update"] }`,
    );
    const refused = await create(caller, { role_name: "app", period: "1h" });
    expect([refused.status, refused.body.errors]).toEqual([
      400,
      ["root or sudo privileges required to create periodic token"],
    ]);
    expect((await create(caller, { period: "1h", policies: ["app-admin"] })).status).toBe(200);
  });

  it.each(["../sys", "app/x", "-app", "app ", "+", "*", "a".repeat(129)])("can't be %j", async (role_name) => {
    const answer = await create(root, { role_name });
    expect([answer.status, answer.body.errors]).toEqual([400, ["role_name is not the name of a role"]]);
    const caller = await allows("create/*");
    expect((await create(caller, { role_name })).status).toBe(403);
  });

  it("has to exist, and has to be a text", async () => {
    const unknown = await create(root, { role_name: "missing" });
    expect([unknown.status, unknown.body.errors]).toEqual([400, ["unknown role missing"]]);
    expect((await create(root, { role_name: { app: 1 } })).status).toBe(400);
    expect((await create(root, { role_name: ["app"] })).status).toBe(400);
  });

  it("is none when it is empty", async () => {
    for (const role_name of ["", null]) {
      const { auth } = (await create(root, { role_name, ttl: "1h" })).body;
      expect((await self(auth.client_token)).role).toBeUndefined();
    }
  });

  it("can come in a form", async () => {
    const caller = await allows("create");
    const headers = { "Content-Type": "application/x-www-form-urlencoded" };
    const form = (token: string) => call("POST", "auth/token/create", { token, raw: "role_name=app", headers });
    expect((await form(caller)).status).toBe(403);
    expect((await self((await form(root)).body.auth.client_token)).role).toBe("app");
  });
});

describe("a role that the body of auth/token/create-orphan names", () => {
  it("has to make orphans", async () => {
    const caller = await allows("create/app-orphan", "create/app");
    const { auth } = (await create(caller, { role_name: "app-orphan" }, "create-orphan")).body;
    expect(await self(auth.client_token)).toMatchObject({ role: "app-orphan", orphan: true });
    const refused = await create(caller, { role_name: "app" }, "create-orphan");
    expect([refused.status, refused.body.errors]).toEqual([400, ["the role does not create orphan tokens"]]);
  });

  it("needs the right to use its path, whatever create-orphan allows", async () => {
    const caller = await allows("create-orphan");
    expect((await create(caller, { role_name: "app-orphan" }, "create-orphan")).status).toBe(403);
    expect((await create(caller, {}, "create-orphan")).body.auth.orphan).toBe(true);
  });
});
