import { beforeAll, describe, expect, it } from "vitest";
import { type AppRoleMount, mountAppRole } from "../../../support/app-role.ts";
import { call, dataOf, initialized, keysOf, tokenUnder } from "../../../support/service.ts";

let root: string;
let mount: AppRoleMount;

beforeAll(async () => {
  root = await initialized();
  mount = await mountAppRole(root, "approle");
});

describe("a role of the approle method", () => {
  it("is read as it was written, and keeps what a later write does not send", async () => {
    await mount.role("web", {
      secret_id_bound_cidrs: "192.0.2.0/24,198.51.100.7/32",
      secret_id_num_uses: 3,
      secret_id_ttl: "10m",
      token_policies: ["b", "a"],
      token_ttl: "20m",
      token_max_ttl: "30m",
      token_num_uses: 10,
    });
    await mount.ask("POST", "role/web", { token_ttl: "15m" });
    expect((await mount.ask("GET", "role/web")).body.data).toEqual({
      bind_secret_id: true,
      local_secret_ids: false,
      // As they were written: a client that compares finds no difference.
      secret_id_bound_cidrs: ["192.0.2.0/24", "198.51.100.7/32"],
      secret_id_num_uses: 3,
      secret_id_ttl: 600,
      token_bound_cidrs: [],
      token_ends_with_secret_id: false,
      token_explicit_max_ttl: 0,
      token_max_ttl: 1800,
      token_no_default_policy: false,
      token_num_uses: 10,
      token_period: 0,
      token_policies: ["a", "b"],
      token_strictly_bind_ip: false,
      token_ttl: 900,
      token_type: "default",
    });
  });

  it("is one in any case, also for policies", async () => {
    await mount.role("Cased");
    expect(keysOf(await mount.ask("LIST", "role"))).toContain("cased");
    expect((await mount.ask("GET", "role/CASED")).status).toBe(200);
    const token = await tokenUnder(root, 'path "auth/approle/role/cased/*" { capabilities = ["update"] }');
    expect((await mount.ask("POST", "role/CaSeD/secret-id", {}, token)).status).toBe(200);
    const denied = await tokenUnder(
      root,
      'path "auth/approle/role/*" { capabilities = ["update"] }\npath "auth/approle/role/cased/secret-id" { capabilities = ["deny"] }',
    );
    expect((await mount.ask("POST", "role/CASED/secret-id", {}, denied)).status).toBe(403);
  });

  it.each([
    ["without a secret-id and without networks", { bind_secret_id: false }],
    ["a misspelled bound", { secret_id_bound_cidr: "192.0.2.0/24" }],
    ["a network that is none", { secret_id_bound_cidrs: "192.0.2.0/33" }],
    ["negative uses", { secret_id_num_uses: -1 }],
    ["a negative lifetime", { secret_id_ttl: -1 }],
    ["an empty role-id", { role_id: "" }],
    ["a role-id with a blank at its end", { role_id: "web " }],
    ["a role-id that is too long", { role_id: "x".repeat(513) }],
    ["a token type that there is not", { token_type: "other" }],
    ["negative uses of tokens", { token_num_uses: -1 }],
  ])("is refused: %s", async (_, fields) => {
    expect((await mount.ask("POST", "role/refused", fields)).status).toBe(400);
    expect((await mount.ask("GET", "role/refused")).status).toBe(404);
  });

  it("keeps local_secret_ids from its creation on", async () => {
    await mount.role("local", { local_secret_ids: true });
    expect((await mount.ask("GET", "role/local/local-secret-ids")).body.data).toEqual({ local_secret_ids: true });
    expect((await mount.ask("POST", "role/local", { local_secret_ids: true })).status).toBe(204);
    expect((await mount.ask("POST", "role/local", { local_secret_ids: false })).status).toBe(400);
  });
});

describe("a field of a role", () => {
  it.each([
    ["policies", "token_policies", ["x", "y"], []],
    ["bound-cidr-list", "bound_cidr_list", ["192.0.2.0/24"], []],
    ["secret-id-bound-cidrs", "secret_id_bound_cidrs", ["192.0.2.0/24"], []],
    ["token-bound-cidrs", "token_bound_cidrs", ["192.0.2.0/24"], []],
    ["bind-secret-id", "bind_secret_id", true, true],
    ["secret-id-num-uses", "secret_id_num_uses", 7, 0],
    ["secret-id-ttl", "secret_id_ttl", 700, 0],
    ["period", "token_period", 800, 0],
    ["token-num-uses", "token_num_uses", 9, 0],
    ["token-ttl", "token_ttl", 100, 0],
    ["token-max-ttl", "token_max_ttl", 200, 0],
  ])("%s is read, written and reset at its own path", async (path, name, value, absent) => {
    await mount.role("fields");
    const read = async () => dataOf<Record<string, unknown>>(await mount.ask("GET", `role/fields/${path}`))[name];
    expect(await read()).toEqual(absent);
    expect((await mount.ask("POST", `role/fields/${path}`, { [name]: value })).status).toBe(204);
    expect(await read()).toEqual(value);
    expect((await mount.ask("DELETE", `role/fields/${path}`)).status).toBe(204);
    expect(await read()).toEqual(absent);
    expect((await mount.ask("POST", `role/fields/${path}`, {})).status).toBe(400);
    expect((await mount.ask("GET", `role/absent/${path}`)).status).toBe(404);
    const written = await mount.ask("POST", `role/absent/${path}`, { [name]: value });
    expect([written.status, written.body.errors]).toEqual([404, ["the role does not exist"]]);
    expect((await mount.ask("DELETE", `role/absent/${path}`)).status).toBe(204);
  });

  it("that is the last bound of a role without secret-ids stays", async () => {
    await mount.role("bound", { bind_secret_id: false, secret_id_bound_cidrs: "192.0.2.0/24" });
    expect((await mount.ask("DELETE", "role/bound/secret-id-bound-cidrs")).status).toBe(400);
    expect((await mount.ask("GET", "role/bound/secret-id-bound-cidrs")).body.data).toEqual({
      secret_id_bound_cidrs: ["192.0.2.0/24"],
    });
  });
});

describe("a role-id", () => {
  it("can be chosen, at the making or later, and belongs to one role", async () => {
    expect(await mount.role("first", { role_id: "chosen" })).toBe("chosen");
    expect(await mount.role("second")).toMatch(/^[0-9a-f-]{36}$/);
    expect((await mount.ask("POST", "role/second/role-id", { role_id: "chosen" })).body.errors).toEqual([
      "role_id already in use",
    ]);
    expect((await mount.ask("POST", "role/third", { role_id: "chosen" })).status).toBe(400);
    await mount.ask("POST", "role/first/role-id", { role_id: "other" });
    expect((await mount.ask("POST", "role/second/role-id", { role_id: "chosen" })).status).toBe(204);
    await mount.ask("DELETE", "role/second");
    expect(await mount.role("fourth", { role_id: "chosen" })).toBe("chosen");
  });

  it("is of one role in any case, because the alias of a login is: two roles would share an entity", async () => {
    await mount.role("lower", { role_id: "web-app" });
    for (const role_id of ["Web-App", "WEB-APP"]) {
      expect((await mount.ask("POST", "role/upper", { role_id })).body.errors).toEqual(["role_id already in use"]);
    }
    // Its own may change its case, and is written again.
    for (const role_id of ["Web-App", "Web-App", "web-app"]) {
      expect(await mount.role("lower", { role_id })).toBe(role_id);
    }
    await mount.role("lower", { role_id: "Web-App" });
    for (const role_id of ["web-app", "WEB-APP"]) {
      expect((await mount.ask("POST", "role/upper", { role_id })).body.errors).toEqual(["role_id already in use"]);
    }
  });
});

it("a mount that is disabled and enabled again has no role", async () => {
  const again = await mountAppRole(root, "again");
  const roleId = await again.role("web");
  const { secret_id } = await again.secretId("web");
  await call("DELETE", "sys/auth/again", { token: root });
  const anew = await mountAppRole(root, "again");
  expect((await anew.ask("GET", "role/web")).status).toBe(404);
  expect((await anew.login(roleId, secret_id)).status).toBe(400);
});
