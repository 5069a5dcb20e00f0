import { beforeAll, describe, expect, it } from "vitest";
import { call, initialized } from "../../support/service.ts";

let root: string;
let accessor: string;

beforeAll(async () => {
  root = await initialized();
  accessor = (await call("GET", "sys/auth", { token: root })).body.data["token/"]?.accessor ?? "";
  await post("auth/token/roles/web", {
    allowed_entity_aliases: "Known, *-web, web-*, web-*-web",
    allowed_policies: "default",
  });
});

const post = (path: string, body: unknown, token = root) => call("POST", path, { token, body });
const create = (entity_alias: string, fields: Record<string, unknown> = {}, token = root) =>
  post("auth/token/create/web", { entity_alias, ...fields }, token);

/** The entity of a token, seen through the token. */
const entityOf = async (token: string) =>
  (await call("GET", "auth/token/lookup-self", { token })).body.data?.entity_id as string | undefined;

describe("entity_alias", () => {
  it("a known alias gives its entity, in any case", async () => {
    const entity = (await post("identity/entity", { name: "known entity" })).body.data.id;
    await post("identity/entity-alias", { name: "KnowN", canonical_id: entity, mount_accessor: accessor });
    for (const alias of ["known", "KNOWN", "Known"]) {
      const made = await create(alias);
      expect([made.status, made.body.auth.entity_id]).toEqual([200, entity]);
      expect(await entityOf(made.body.auth.client_token)).toBe(entity);
    }
  });

  it("an unknown alias makes an entity with exactly that alias, once", async () => {
    const first = await create("New-Web");
    const second = await create("nEW-wEB");
    const id = first.body.auth.entity_id;
    expect(second.body.auth.entity_id).toBe(id);
    const { data } = (await call("GET", `identity/entity/id/${id}`, { token: root })).body;
    expect(data.aliases).toMatchObject([{ name: "New-Web", mount_accessor: accessor, mount_path: "auth/token/" }]);
    expect(data.policies).toEqual([]);
  });

  it("of many creations at once all get one entity", async () => {
    const made = await Promise.all(Array.from({ length: 12 }, (_, i) => create(i % 2 ? "race-web" : "RACE-web")));
    expect(new Set(made.map(({ body }) => body.auth.entity_id)).size).toBe(1);
  });

  it.each(["a-web", "web-b", "web-c-web"])("%s fits a glob of the role", async (alias) => {
    expect((await create(alias)).status).toBe(200);
  });

  it("a name that is not on the list, or no role, is refused, and no entity is made", async () => {
    const before = (await call("GET", "identity/entity/id?list=true", { token: root })).body.data.keys;
    const other = await create("mobile");
    expect([other.status, other.body.errors]).toEqual([400, ["invalid 'entity_alias' value"]]);
    const plain = await post("auth/token/create", { entity_alias: "known" });
    const message = "'entity_alias' is only allowed in combination with token role";
    expect([plain.status, plain.body.errors]).toEqual([400, [message]]);
    const control = await create("web-\u0000");
    expect([control.status, control.body.errors]).toEqual([400, ["alias name must not contain control characters"]]);
    // Refused by a later rule.
    expect((await create("web-later", { ttl: "-1s" })).status).toBe(400);
    expect((await call("GET", "identity/entity/id?list=true", { token: root })).body.data.keys).toEqual(before);
  });

  it("of callers without the right makes nothing", async () => {
    const bare = (await post("auth/token/create", { policies: ["default"] })).body.auth.client_token;
    expect((await create("web-denied", {}, bare)).status).toBe(403);
    const found = await post("identity/lookup/entity", { alias_name: "web-denied", alias_mount_accessor: accessor });
    expect(found.status).toBe(204);
  });

  it("a disabled entity is shown as disabled", async () => {
    const id = (await create("off-web")).body.auth.entity_id;
    await post(`identity/entity/id/${id}`, { disabled: true });
    const refused = await create("off-web");
    expect([refused.status, refused.body.errors]).toEqual([403, ["entity from given entity alias is disabled"]]);
  });

  it("goes before the creator's entity; a child without an alias has its creator's, an orphan none", async () => {
    await post("sys/policies/acl/maker", {
      policy: 'path "auth/token/*" { capabilities = ["update", "read", "sudo"] }',
    });
    await post("auth/token/roles/makers", { allowed_entity_aliases: "*", allowed_policies: "maker" });
    const maker = (await post("auth/token/create/makers", { entity_alias: "maker" })).body.auth;
    const token = maker.client_token;
    const child = (await post("auth/token/create", {}, token)).body.auth;
    expect(child.entity_id).toBe(maker.entity_id);
    const other = (await post("auth/token/create/makers", { entity_alias: "other" }, token)).body.auth;
    expect([other.entity_id !== maker.entity_id, other.orphan]).toEqual([true, false]);
    expect((await post("auth/token/create-orphan", {}, token)).body.auth.entity_id).toBe("");
    await call("POST", "auth/token/revoke", { token: root, body: { token } });
    expect((await call("GET", "auth/token/lookup-self", { token: other.client_token })).status).toBe(403);
  });

  it("works for orphans, batch tokens and chosen ids", async () => {
    await post("auth/token/roles/free", { allowed_entity_aliases: "*", orphan: true, renewable: false });
    const id = (await create("many-web")).body.auth.entity_id;
    for (const fields of [{}, { type: "batch", ttl: "1h", policies: ["default"] }, { id: "chosen-id" }]) {
      const { body } = await post("auth/token/create/free", { entity_alias: "many-web", ...fields });
      expect(body.auth.entity_id).toBe(id);
      expect(await entityOf(body.auth.client_token)).toBe(id);
    }
  });
});
