import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { forgetEntities, loadEntity } from "../../../src/identity/entity-copies.ts";
import { entityForLogin } from "../../../src/identity/entity-for-login.ts";
import { deleteEntities, writeEntity } from "../../../src/identity/entity-writes.ts";
import { writeGroup } from "../../../src/identity/group-writes.ts";
import type { EntityWrite, GroupWrite } from "../../../src/identity/model.ts";
import { EntityShard } from "../../../src/identity/shard/entity-shard.ts";
import { homeOf } from "../../../src/identity/stubs.ts";
import { atCalls } from "../../support/calls.ts";
import { costOf } from "../../support/costs.ts";
import { Meter } from "../../support/meter.ts";
import { bindings, call, createToken, initialized } from "../../support/service.ts";
import { alter, changeRows } from "../../support/storage-writer.ts";
import { holdInventory, holdSweeps, locate } from "../../support/trees.ts";

let root: string;

beforeEach(holdSweeps);
beforeEach(holdInventory);

beforeAll(async () => {
  root = await initialized();
  await post("auth/token/roles/person", { allowed_entity_aliases: "*", allowed_policies: "default,mine" });
  for (const name of ["e", "g", "outer"]) await policy(name, `path "cubbyhole/${name}/*" { capabilities = ["read"] }`);
  await policy("mine", 'path "sys/capabilities-self" { capabilities = ["update"] }');
});

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const post = (path: string, body: unknown, token = root) => call("POST", path, { token, body });
const policy = (name: string, text: string) => post(`sys/policies/acl/${name}`, { policy: text });
const self = (token: string) => call("GET", "auth/token/lookup-self", { token });

/** A token of a new entity. */
async function person(alias: string, fields: Record<string, unknown> = {}) {
  const made = await post("auth/token/create/person", { entity_alias: alias, policies: ["mine"], ...fields });
  if (made.status !== 200) throw new Error(JSON.stringify(made.body));
  const { client_token: token, entity_id: entity } = made.body.auth;
  return { token: token as string, entity: entity as string };
}

/** What the token may do on the paths of the policies e, g and outer. */
async function reach(token: string): Promise<string[]> {
  const paths = ["e", "g", "outer"].map((name) => `cubbyhole/${name}/x`);
  const { body } = await post("sys/capabilities-self", { paths }, token);
  return paths.filter((path) => JSON.stringify(body.data[path]) === '["read"]').map((path) => path.split("/")[1] ?? "");
}

describe("policies of the entity and of its groups", () => {
  it("take effect at the next request, show up as they are added, and stop with their cause", async () => {
    const { token, entity } = await person("adding");
    expect(await reach(token)).toEqual([]);
    expect((await self(token)).body.data).not.toHaveProperty("identity_policies");

    await post(`identity/entity/id/${entity}`, { policies: "e" });
    expect(await reach(token)).toEqual(["e"]);
    expect((await self(token)).body.data).toMatchObject({ policies: ["default", "mine"], identity_policies: ["e"] });

    const group = (await post("identity/group", { policies: "g", member_entity_ids: entity })).body.data.id;
    expect(await reach(token)).toEqual(["e", "g"]);
    const outer = (await post("identity/group", { policies: "outer,e", member_group_ids: group })).body.data.id;
    expect(await reach(token)).toEqual(["e", "g", "outer"]);
    expect((await self(token)).body.data.identity_policies).toEqual(["e", "g", "outer"]);
    const other = await call("POST", "auth/token/lookup", { token: root, body: { token } });
    expect(other.body.data.identity_policies).toEqual(["e", "g", "outer"]);

    await call("DELETE", `identity/group/id/${outer}`, { token: root });
    expect(await reach(token)).toEqual(["e", "g"]);
    await post(`identity/group/id/${group}`, { member_entity_ids: [] });
    expect(await reach(token)).toEqual(["e"]);
    await post(`identity/entity/id/${entity}`, { policies: [] });
    expect(await reach(token)).toEqual([]);
  });

  it("are the same by token, by accessor and for a batch token", async () => {
    const { token, entity } = await person("asked");
    await post(`identity/entity/id/${entity}`, { policies: "e" });
    const { accessor } = (await self(token)).body.data;
    const paths = ["cubbyhole/e/x"];
    for (const [path, body] of [
      ["sys/capabilities", { token, paths }],
      ["sys/capabilities-accessor", { accessor, paths }],
    ] as const) {
      expect((await post(path, body)).body.capabilities).toEqual(["read"]);
    }
    const batch = await post("auth/token/create/person", { entity_alias: "asked", type: "batch", policies: ["mine"] });
    expect(await reach(batch.body.auth.client_token)).toEqual(["e"]);
  });

  it("count for sudo, but a child gets at most the policies of the token", async () => {
    const { token, entity } = await person("sudo");
    await policy("grants", 'path "auth/token/create" { capabilities = ["update"] }');
    await post(`identity/entity/id/${entity}`, { policies: "grants,e" });
    const child = await post("auth/token/create", { policies: ["e"] }, token);
    expect([child.status, child.body.errors]).toEqual([400, ["child policies must be subset of parent"]]);
    await policy("grants", 'path "auth/token/create" { capabilities = ["update", "sudo"] }');
    expect((await post("auth/token/create", { policies: ["e"] }, token)).status).toBe(200);
  });

  it("are listed by creation and renewal, apart and joined", async () => {
    const { entity, token } = await person("renewing");
    await post(`identity/entity/id/${entity}`, { policies: "e,mine" });
    await policy("mine-too", 'path "auth/token/renew-self" { capabilities = ["update"] }');
    const created = await post("auth/token/create/person", { entity_alias: "renewing", policies: ["mine"] });
    const renewed = await post("auth/token/renew-self", {}, token);
    for (const { body } of [created, renewed]) {
      expect(body.auth).toMatchObject({
        token_policies: ["default", "mine"],
        identity_policies: ["e", "mine"],
        policies: ["default", "e", "mine"],
      });
    }
  });

  it("never make root, even when the storage says so", async () => {
    const { token, entity } = await person("damaged");
    const home = homeOf(bindings, entity);
    if (!home) throw new Error("no id of an entity");
    await alter(home, `UPDATE entities SET content = replace(content, '"policies":[]', '"policies":["root"]')`);
    forgetEntities();
    expect((await call("GET", "sys/policies/acl/default", { token })).status).toBe(403);
    expect((await self(token)).status).toBe(403);
  });
});

describe("a disabled or deleted entity", () => {
  it("its tokens answer 403 and are not revoked: enabling it again makes them good", async () => {
    const { token, entity } = await person("sleeping", { num_uses: 3 });
    await post(`identity/entity/id/${entity}`, { disabled: true });
    for (let i = 0; i < 5; i++) {
      const refused = await self(token);
      expect([refused.status, refused.body.errors]).toEqual([403, ["permission denied"]]);
    }
    // Seen by others, but of no use to anybody.
    expect((await post("auth/token/lookup", { token })).status).toBe(200);
    expect((await post("sys/capabilities", { token, paths: ["a"] })).status).toBe(403);
    expect((await call("GET", "sys/internal/ui/mounts", { token })).status).toBe(403);
    await post(`identity/entity/id/${entity}`, { disabled: false });
    expect((await self(token)).body.data.num_uses).toBe(2);
  });

  it("the tokens of a deleted one are refused, service and batch", async () => {
    const { token, entity } = await person("leaving");
    const batch = (await post("auth/token/create/person", { entity_alias: "leaving", type: "batch" })).body.auth;
    expect((await self(batch.client_token)).status).toBe(200);
    expect((await call("DELETE", `identity/entity/id/${entity}`, { token: root })).status).toBe(204);
    expect((await self(token)).status).toBe(403);
    expect((await self(batch.client_token)).status).toBe(403);
    // The name is free for another one, which the old tokens do not get.
    const again = await person("leaving");
    expect(again.entity).not.toBe(entity);
    expect((await self(token)).status).toBe(403);
  });

  it("is found out before anything is done, by every token below as well", async () => {
    const { token, entity } = await person("parent");
    await post(`identity/entity/id/${entity}`, { policies: "root-like" });
    await policy("root-like", 'path "auth/token/*" { capabilities = ["update", "sudo"] }');
    const child = (await post("auth/token/create", { policies: ["mine"] }, token)).body.auth.client_token;
    await post(`identity/entity/id/${entity}`, { disabled: true });
    expect((await self(child)).status).toBe(403);
    const body = { token: child };
    expect((await call("POST", "auth/token/revoke", { token, body })).status).toBe(403);
    await post(`identity/entity/id/${entity}`, { disabled: false });
    expect((await self(child)).status).toBe(200);
  });
});

describe("templates", () => {
  it("hold for the entity, its aliases and its groups", async () => {
    const accessor = (await call("GET", "sys/auth", { token: root })).body.data["token/"]?.accessor;
    await policy(
      "personal",
      `
      path "cubbyhole/by-id/{{identity.entity.id}}" { capabilities = ["read"] }
      path "cubbyhole/by-name/{{identity.entity.name}}/*" { capabilities = ["read"] }
      path "cubbyhole/by-team/{{identity.entity.metadata.team}}" { capabilities = ["read"] }
      path "cubbyhole/by-alias/{{identity.entity.aliases.${accessor}.name}}" { capabilities = ["read"] }
      path "cubbyhole/by-custom/{{identity.entity.aliases.${accessor}.custom_metadata.zone}}" { capabilities = ["read"] }
      path "cubbyhole/by-group/{{identity.groups.names.crew.metadata.ship}}" { capabilities = ["read"] }
      path "cubbyhole/bad/{{identity.entity.metadata.missing}}" { capabilities = ["read"] }
      `,
    );
    const ada = await person("ada");
    const bob = await person("bob");
    for (const [{ entity }, name, team] of [
      [ada, "Ada", "red"],
      [bob, "Bob", "blue"],
    ] as const) {
      await post(`identity/entity/id/${entity}`, { name, policies: "personal", metadata: { team } });
    }
    await post("identity/entity-alias", { name: "ada", mount_accessor: accessor, custom_metadata: { zone: "north" } });
    const may = async (token: string, path: string) =>
      (await post("sys/capabilities-self", { paths: `cubbyhole/${path}` }, token)).body.capabilities?.[0] === "read";
    for (const [path, adaMay, bobMay] of [
      [`by-id/${ada.entity}`, true, false],
      ["by-name/Ada/x", true, false],
      ["by-name/Bob/x", false, true],
      ["by-team/red", true, false],
      ["by-team/blue", false, true],
      ["by-alias/ada", true, false],
      ["by-custom/north", true, false],
      ["by-group/sloop", false, false],
      ["bad/", false, false],
    ] as const) {
      expect([path, await may(ada.token, path), await may(bob.token, path)]).toEqual([path, adaMay, bobMay]);
    }
    await post("identity/group", { name: "crew", metadata: { ship: "sloop" }, member_entity_ids: bob.entity });
    expect([await may(ada.token, "by-group/sloop"), await may(bob.token, "by-group/sloop")]).toEqual([false, true]);
    await post(`identity/entity/id/${ada.entity}`, { metadata: { team: "green" } });
    expect([await may(ada.token, "by-team/red"), await may(ada.token, "by-team/green")]).toEqual([false, true]);
  });

  it("the default policy lets an entity read itself and nobody else", async () => {
    const ada = await person("reader", { policies: ["default"] });
    const bob = await person("other reader");
    expect((await call("GET", `identity/entity/id/${ada.entity}`, { token: ada.token })).status).toBe(200);
    expect((await call("GET", `identity/entity/id/${bob.entity}`, { token: ada.token })).status).toBe(403);
  });
});

describe("a login", () => {
  it("finds the entity of an alias or makes it, and keeps what the method says for templates", async () => {
    const login = (metadata: Record<string, string> | null) =>
      entityForLogin(bindings, { mountAccessor: "auth_aws_1", name: "Machine-1", metadata });
    const first = await login({ zone: "a" });
    const second = await login({ zone: "b" });
    const third = await login(null);
    if (!first.ok || !second.ok || !third.ok) throw new Error("a login failed");
    expect(second.value.entity.id).toBe(first.value.entity.id);
    expect(third.value.entity.aliases.auth_aws_1).toMatchObject({ name: "Machine-1", metadata: { zone: "b" } });
    expect(second.value.revision).not.toBe(first.value.revision);
    expect(third.value.revision).toBe(second.value.revision);
    await post(`identity/entity/id/${first.value.entity.id}`, { disabled: true });
    expect(await login(null)).toMatchObject({ ok: false, error: { failure: { code: "permission_denied" } } });
  });
});

/** The calls to objects of entities and groups while `work` runs. */
async function callsDuring(work: () => Promise<unknown>): Promise<string[]> {
  const meter = new Meter();
  try {
    await work();
    // A shard is listed before its first row.
    const isCounted = (method: string) => /^(EntityShard|Identity)\./.test(method) && method !== "Identity.admitShard";
    return meter.methods().filter(isCounted);
  } finally {
    meter.stop();
  }
}

const cachedEnv = { ...bindings, POLICY_CACHE_SECONDS: "5" };

describe("what a login costs", () => {
  it("one call, also for the policies that its answer tells and for the first look-up of its token", async () => {
    forgetEntities();
    const first = await callsDuring(async () => {
      const { token } = await person("one call");
      expect((await self(token)).status).toBe(200);
    });
    expect(first).toEqual(["EntityShard.logIn"]);
  });

  it("none while what is known of the entity is fresh and the login says nothing new", async () => {
    const login = (metadata: Record<string, string> | null, aliasName = "Fresh") =>
      entityForLogin(cachedEnv, { mountAccessor: "auth_jwt_1", name: aliasName, metadata });
    vi.useFakeTimers({ toFake: ["Date"] });
    const none: string[] = [];
    const one = ["EntityShard.logIn"];
    expect(await callsDuring(() => login({ zone: "a" }))).toEqual(one);
    expect(await callsDuring(() => login({ zone: "a" }, "FRESH"))).toEqual(none);
    expect(await callsDuring(() => login(null))).toEqual(none);
    expect(await callsDuring(() => login({ zone: "b" }))).toEqual(one);
    expect(await callsDuring(() => login({ zone: "b" }))).toEqual(none);
    vi.setSystemTime(Date.now() + 5000);
    expect(await callsDuring(() => login({ zone: "b" }))).toEqual(one);
    expect(await callsDuring(() => login({ zone: "b" }))).toEqual(none);
  });

  it("one call more where it changes the groups, and all groups once in POLICY_CACHE_SECONDS", async () => {
    const mountAccessor = (await call("GET", "sys/auth", { token: root })).body.data["token/"]?.accessor ?? "";
    for (const name of ["a", "b"]) {
      const id = (await post("identity/group", { name: `said ${name}`, type: "external" })).body.data.id;
      await post("identity/group-alias", { name, mount_accessor: mountAccessor, canonical_id: id });
    }
    const login = async (groups: string[], aliasName = "grouped") => {
      const found = await entityForLogin(cachedEnv, { mountAccessor, name: aliasName, metadata: null, groups });
      return found.ok ? found.value.groups.map(({ name }) => name) : null;
    };
    vi.useFakeTimers({ toFake: ["Date"] });
    forgetEntities();
    const joins = [
      "EntityShard.entity",
      "EntityShard.logIn",
      "EntityShard.putDirectoryEntries",
      "Identity.setLoginGroups",
    ];
    expect(await callsDuring(() => login(["A", "other"]))).toEqual([
      ...joins.slice(0, 3),
      "Identity.allGroups",
      ...joins.slice(3),
    ]);
    expect(await callsDuring(() => login(["a"]))).toEqual([]);
    expect(await login(["a"])).toEqual(["said a"]);
    expect(await callsDuring(() => login(["b"], "grouped too"))).toEqual(joins);
    // An isolate that knows nothing of the entity: nothing changes.
    vi.setSystemTime(Date.now() + 5000);
    expect(await callsDuring(() => login(["b"], "grouped too"))).toEqual(["EntityShard.logIn", "Identity.allGroups"]);
    expect(await callsDuring(() => login([], "grouped too"))).toEqual(
      joins.filter((name) => name !== "EntityShard.logIn"),
    );
    expect(await login([], "grouped too")).toEqual([]);
  });

  it("a login that changes the groups of one entity leaves what is known of others", async () => {
    const { entity } = await person("bystander");
    await loadEntity(cachedEnv, entity);
    const login = { mountAccessor: "auth_jwt_1", name: "mover", metadata: null };
    await entityForLogin(cachedEnv, { ...login, groups: ["x"] });
    await entityForLogin(cachedEnv, { ...login, groups: ["y"] });
    expect(await callsDuring(() => loadEntity(cachedEnv, entity))).toEqual([]);
  });

  it("an answer that was asked for before a login is not kept in its place", async () => {
    const login = { mountAccessor: "auth_jwt_1", name: "crossing" };
    const first = await entityForLogin(cachedEnv, { ...login, metadata: { zone: "a" } });
    if (!first.ok) throw new Error("a login failed");
    const { id } = first.value.entity;
    forgetEntities();
    const views = atCalls(EntityShard, "entity", async () => {
      await entityForLogin(cachedEnv, { ...login, metadata: { zone: "b" } });
      return { ...first.value, groupIds: [] };
    });
    await loadEntity(cachedEnv, id);
    views.end();
    const known = await loadEntity(cachedEnv, id);
    expect(known?.entity.aliases.auth_jwt_1?.metadata).toEqual({ zone: "b" });
  });
});

/** Changes an entity as another isolate would. */
async function changeElsewhere(id: string, fields: Partial<EntityWrite>): Promise<void> {
  const write = { name: null, metadata: null, policies: null, disabled: null, ...fields };
  expect((await writeEntity(bindings, id, write)).ok).toBe(true);
}

/** The same for a group. */
async function changeGroupElsewhere(id: string, fields: Partial<GroupWrite>): Promise<void> {
  const nothing = { name: null, type: null, metadata: null, policies: null };
  const write = { ...nothing, memberEntityIds: null, memberGroupIds: null, ...fields };
  expect((await writeGroup(bindings, id, write)).ok).toBe(true);
}

describe("how old what an isolate knows may be", () => {
  it("a token without an entity asks nobody; one with an entity asks once, and then not while that is fresh", async () => {
    const { client_token: plain } = await createToken(root, { policies: ["default"] });
    expect(await callsDuring(() => self(plain))).toEqual([]);
    const { token } = await person("counted");
    forgetEntities();
    const { stub } = await locate(token);
    for (const asked of [["EntityShard.entity"], [], []]) {
      expect(await callsDuring(() => self(token))).toEqual(asked);
      if (asked.length > 0) forgetEntities();
      // Read once more after the wait for the entity.
      expect(await costOf(stub, () => self(token))).toEqual({ rowsRead: 2, rowsWritten: 0 });
    }
  });

  it.each<[string, (entity: string, group: string) => Promise<unknown>, readonly string[] | undefined]>([
    ["the policies of the entity", (entity) => changeElsewhere(entity, { policies: ["outer"] }), ["g", "outer"]],
    ["the policies of a group", (_, group) => changeGroupElsewhere(group, { policies: ["outer"] }), ["e", "outer"]],
    ["the members of a group", (_, group) => changeGroupElsewhere(group, { memberEntityIds: [] }), ["e"]],
    ["that the entity is disabled", (entity) => changeElsewhere(entity, { disabled: true }), undefined],
    ["that the entity is there", (entity) => deleteEntities(bindings, [{ id: entity }]), undefined],
  ])("POLICY_CACHE_SECONDS for what another isolate changes: %s", async (what, write, after) => {
    const { entity } = await person(`changed elsewhere: ${what}`);
    await post(`identity/entity/id/${entity}`, { policies: "e" });
    const group = (await post("identity/group", { policies: "g", member_entity_ids: entity })).body.data.id;
    vi.useFakeTimers({ toFake: ["Date"] });
    forgetEntities();
    const policies = async () => {
      const view = await loadEntity(cachedEnv, entity);
      return view && !view.disabled ? view.policies : undefined;
    };
    expect(await policies()).toEqual(["e", "g"]);
    await write(entity, group);
    vi.setSystemTime(Date.now() + 3_999);
    expect(await callsDuring(policies)).toEqual([]);
    expect(await policies()).toEqual(["e", "g"]);
    vi.setSystemTime(Date.now() + 1_001);
    expect(await policies()).toEqual(after);
  });

  it("nothing for what this isolate changes", async () => {
    const { entity } = await person("changed here");
    await loadEntity(cachedEnv, entity);
    await post(`identity/entity/id/${entity}`, { policies: "g" });
    expect((await loadEntity(cachedEnv, entity))?.policies).toEqual(["g"]);
  });

  it("a copy in constant use is read again before requests have to wait for it", async () => {
    const { entity } = await person("hot");
    vi.useFakeTimers({ toFake: ["Date"] });
    forgetEntities();
    const policies = async () => (await loadEntity(cachedEnv, entity))?.policies;
    expect(await policies()).toEqual([]);
    await changeElsewhere(entity, { policies: ["e"] });
    vi.setSystemTime(Date.now() + 4_000);
    // The one that has it read anew does not wait for the answer.
    expect(await policies()).toEqual([]);
    await vi.waitFor(async () => expect(await policies()).toEqual(["e"]), 60_000);
  });

  it("groups are asked for once for all entities that are in some", async () => {
    const members = [await person("member one"), await person("member two"), await person("member three")];
    const ids = members.map(({ entity }) => entity);
    const inner = (await post("identity/group", { policies: "g", member_entity_ids: ids })).body.data.id;
    await post("identity/group", { policies: "outer", member_group_ids: inner });
    vi.useFakeTimers({ toFake: ["Date"] });
    forgetEntities();
    const look = async () => {
      for (const id of ids) expect((await loadEntity(cachedEnv, id))?.policies).toEqual(["g", "outer"]);
    };
    const asked = ids.map(() => "EntityShard.entity");
    expect(await callsDuring(look)).toEqual([...asked, "Identity.allGroups"]);
    expect(await callsDuring(look)).toEqual([]);
    vi.setSystemTime(Date.now() + 5_000);
    expect(await callsDuring(look)).toEqual([...asked, "Identity.allGroups"]);
    const { revision } = (await bindings.IDENTITY.getByName("identity").allGroups(null)) ?? { revision: 0 };
    expect(await bindings.IDENTITY.getByName("identity").allGroups(revision)).toBeNull();
    // Who is in a group is not what isolates know of it.
    await post(`identity/group/id/${inner}`, { member_entity_ids: ids.slice(1) });
    expect(await bindings.IDENTITY.getByName("identity").allGroups(revision)).toBeNull();
  });

  it("an answer that was under way during a write of this isolate is not kept", async () => {
    const { entity } = await person("racing");
    const old = await loadEntity(cachedEnv, entity);
    if (!old) throw new Error("no entity");
    forgetEntities();
    const views = atCalls(EntityShard, "entity", async () => {
      views.end();
      forgetEntities();
      return { ...old, groupIds: [] };
    });
    expect((await loadEntity(cachedEnv, entity))?.policies).toEqual([]);
    views.end();
    await changeElsewhere(entity, { policies: ["e"] });
    expect((await loadEntity(cachedEnv, entity))?.policies).toEqual(["e"]);
  });

  it("one of the groups of which was tampered with gives nothing to any of its members, also through others", async () => {
    vi.spyOn(console, "error").mockReturnValue(undefined);
    const { entity } = await person("in a forged group");
    await post(`identity/entity/id/${entity}`, { policies: "e" });
    const inner = (await post("identity/group", { policies: "g", member_entity_ids: entity })).body.data.id;
    const outer = (await post("identity/group", { policies: "outer", member_group_ids: inner })).body.data.id;
    const policies = async () => {
      forgetEntities();
      return (await loadEntity(bindings, entity))?.policies ?? null;
    };
    expect(await policies()).toEqual(["e", "g", "outer"]);
    const forge = (text: string) =>
      changeRows(bindings.IDENTITY.getByName("identity"), "groups", { policies: text }, { id: outer });
    await forge("[]");
    expect(await policies()).toBeNull();
    await forge('["outer"]');
    expect(await policies()).toEqual(["e", "g", "outer"]);
  });
});

describe("while a tree waits for an entity", () => {
  it("a token that is revoked during the call is refused", async () => {
    const { token } = await person("revoked meanwhile");
    forgetEntities();
    const asked = atCalls(EntityShard, "entity", async ({ proceed }) => {
      asked.end();
      await post("auth/token/revoke", { token });
      return proceed();
    });
    expect((await self(token)).status).toBe(403);
  });

  it("uses are counted exactly: 64 requests at once on 10 uses", async () => {
    const { token } = await person("limited", { num_uses: 10 });
    forgetEntities();
    const statuses = await Promise.all(Array.from({ length: 64 }, async () => (await self(token)).status));
    expect(statuses.filter((status) => status === 200)).toHaveLength(10);
  });
});
