import { runInDurableObject } from "cloudflare:test";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { Identity } from "../../../src/identity/identity.ts";
import { entityForLogin } from "../../../src/identity/login.ts";
import { EntityShard } from "../../../src/identity/shard/entity-shard.ts";
import { shardThatTells } from "../../../src/identity/shard/place.ts";
import { entityShard } from "../../../src/identity/shard/stub.ts";
import { forgetEntities, loadEntity } from "../../../src/identity/standing.ts";
import { loadInstallation } from "../../../src/system/installation.ts";
import { costOf } from "../../support/costs.ts";
import { bindings, call, createToken, initialized } from "../../support/service.ts";
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

afterEach(() => vi.useRealTimers());

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

/** The same of an entity that an operator has written, so that `Identity` has it. */
async function written(alias: string) {
  const made = await person(alias);
  await post(`identity/entity/id/${made.entity}`, { policies: [] });
  return made;
}

/** What the token may do on the paths of the policies e, g and outer. */
async function reach(token: string): Promise<string[]> {
  const paths = ["e", "g", "outer"].map((name) => `cubbyhole/${name}/x`);
  const { body } = await post("sys/capabilities-self", { paths }, token);
  return paths.filter((path) => JSON.stringify(body.data[path]) === '["read"]').map((path) => path.split("/")[1] ?? "");
}

describe("C1, T72: policies of the entity and of its groups", () => {
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

  it("T55: are listed by creation and renewal, apart and joined", async () => {
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
    const { token, entity } = await written("damaged");
    await runInDurableObject(bindings.IDENTITY.getByName("identity"), (_, state) =>
      state.storage.sql.exec("UPDATE entities SET policies = '[\"root\"]', revision = 99 WHERE id = ?", entity),
    );
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

  it("T71: the tokens of a deleted one are refused, service and batch", async () => {
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

describe("P11: templates", () => {
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
      entityForLogin(bindings, { mountAccessor: "auth_aws_1", aliasName: "Machine-1", metadata });
    const first = await login({ zone: "a" });
    const second = await login({ zone: "b" });
    const third = await login(null);
    if (!first.ok || !second.ok || !third.ok) throw new Error("a login failed");
    expect(second.value.entity.id).toBe(first.value.entity.id);
    expect(third.value.entity.aliases.auth_aws_1).toMatchObject({ name: "Machine-1", metadata: { zone: "b" } });
    expect(second.value.revision).not.toBe(first.value.revision);
    expect(third.value.revision).toBe(second.value.revision);
    await post(`identity/entity/id/${first.value.entity.id}`, { disabled: true });
    expect(await login(null)).toEqual({ ok: false, error: { code: "permission_denied" } });
  });
});

describe("what a login costs", () => {
  const METHODS = [
    "logIn",
    "entity",
    "handOverAlias",
    "noteHolder",
    "forgetCopies",
    "hasAlias",
    "adopt",
    "lendEntity",
    "groupsAbove",
  ] as const;

  /** Counts the calls to objects of entities while `work` runs. */
  async function callsDuring(work: () => Promise<unknown>): Promise<string[]> {
    const calls: string[] = [];
    const restore = [Identity, EntityShard].flatMap((type) =>
      METHODS.map((name) => {
        const original: unknown = Reflect.get(type.prototype, name);
        if (typeof original !== "function") return () => true;
        Reflect.set(type.prototype, name, function counted(this: unknown, ...args: unknown[]) {
          calls.push(`${type.name}.${name}`);
          return Reflect.apply(original, this, args);
        });
        return () => Reflect.set(type.prototype, name, original);
      }),
    );
    try {
      await work();
    } finally {
      for (const undo of restore) undo();
    }
    return calls;
  }

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
      entityForLogin(bindings, { mountAccessor: "auth_jwt_1", aliasName, metadata, groups: ["a", "b"] });
    vi.useFakeTimers({ toFake: ["Date"] });
    // No change of other tests is expected any more.
    vi.setSystemTime(Date.now() + 200_000);
    await loadInstallation(bindings);
    const none: string[] = [];
    const one = ["Identity.logIn"];
    // Groups are with `Identity`, so the alias goes there at the first login that says some.
    expect(await callsDuring(() => login({ zone: "a" }))).toEqual(["EntityShard.handOverAlias", ...one]);
    expect(await callsDuring(() => login({ zone: "a" }, "FRESH"))).toEqual(none);
    expect(await callsDuring(() => login(null))).toEqual(none);
    expect(await callsDuring(() => login({ zone: "b" }))).toEqual(one);
    expect(await callsDuring(() => login({ zone: "b" }))).toEqual(none);
    expect(
      await callsDuring(() =>
        entityForLogin(bindings, { mountAccessor: "auth_jwt_1", aliasName: "fresh", metadata: null, groups: ["a"] }),
      ),
    ).toEqual(one);
    await loadInstallation(bindings);
    // What changed a moment ago may change again: the entity is asked for as often as POLICY_CACHE_SECONDS say.
    vi.setSystemTime(Date.now() + 5000);
    await loadInstallation(bindings);
    expect(await callsDuring(() => login({ zone: "b" }))).toEqual(one);
    vi.setSystemTime(Date.now() + 5000);
    await loadInstallation(bindings);
    expect(await callsDuring(() => login({ zone: "b" }))).toEqual(["EntityShard.entity", "Identity.lendEntity"]);
    // A minute later it need not be asked for.
    vi.setSystemTime(Date.now() + 60_000);
    await loadInstallation(bindings);
    await login({ zone: "b" });
    vi.setSystemTime(Date.now() + 50_000);
    await loadInstallation(bindings);
    expect(await callsDuring(() => login({ zone: "b" }))).toEqual(none);
  });

  it("a login that changes the groups of one entity leaves what is known of others", async () => {
    const { entity } = await person("bystander");
    await loadEntity(bindings, entity);
    const login = { mountAccessor: "auth_jwt_1", aliasName: "mover", metadata: null };
    await entityForLogin(bindings, { ...login, groups: ["x"] });
    await entityForLogin(bindings, { ...login, groups: ["y"] });
    expect(await callsDuring(() => loadEntity(bindings, entity))).toEqual([]);
  });

  it("an answer that was asked for before a login is not kept in its place", async () => {
    const login = { mountAccessor: "auth_jwt_1", aliasName: "crossing" };
    const first = await entityForLogin(bindings, { ...login, metadata: { zone: "a" } });
    if (!first.ok) throw new Error("a login failed");
    const { id } = first.value.entity;
    forgetEntities();
    const views = vi.spyOn(EntityShard.prototype, "entity").mockImplementationOnce(async () => {
      await entityForLogin(bindings, { ...login, metadata: { zone: "b" } });
      return { ...first.value, groupIds: [] };
    });
    await loadEntity(bindings, id);
    views.mockRestore();
    const known = await loadEntity(bindings, id);
    expect(known?.entity.aliases.auth_jwt_1?.metadata).toEqual({ zone: "b" });
  });
});

describe("what it costs", () => {
  const cachedEnv = { ...bindings, POLICY_CACHE_SECONDS: "5" };

  it("a token without an entity asks nobody; one with an entity asks once, and then not while that is fresh", async () => {
    const views = vi.spyOn(EntityShard.prototype, "entity");
    const { client_token: plain } = await createToken(root, { policies: ["default"] });
    await self(plain);
    expect(views).toHaveBeenCalledTimes(0);
    const { token } = await person("counted");
    forgetEntities();
    const { stub } = await locate(token);
    for (const asked of [1, 0, 0]) {
      views.mockClear();
      const cost = await costOf(stub, () => self(token));
      expect(views).toHaveBeenCalledTimes(asked);
      // Read once more after the wait for the entity.
      expect(cost).toEqual({ rowsRead: 2, rowsWritten: 0 });
    }
  });

  it("within POLICY_CACHE_SECONDS nobody is asked, after that a change is seen; an own write is seen at once", async () => {
    const { entity } = await written("cached");
    vi.useFakeTimers({ toFake: ["Date"] });
    forgetEntities();
    const views = vi.spyOn(EntityShard.prototype, "entity");
    const policies = async () => (await loadEntity(cachedEnv, entity))?.policies;
    expect(await policies()).toEqual([]);
    const identity = bindings.IDENTITY.getByName("identity");
    const write = { name: null, metadata: null, policies: ["e"], disabled: null };
    // As another isolate would.
    await identity.writeEntity(entity, write, "", "", Date.now());
    vi.setSystemTime(Date.now() + 4999);
    expect(await policies()).toEqual([]);
    expect(views).toHaveBeenCalledTimes(1);
    vi.setSystemTime(Date.now() + 1);
    expect(await policies()).toEqual(["e"]);
    expect(views).toHaveBeenCalledTimes(2);
    await post(`identity/entity/id/${entity}`, { policies: "g" });
    expect(await policies()).toEqual(["g"]);
  });

  it("an entity that has not changed is not sent again, whatever happens to others", async () => {
    const { entity } = await written("unchanged");
    const shard = entityShard(bindings, shardThatTells(entity));
    const first = await shard.entity(entity, null, Date.now());
    if (!first || first === "unchanged") throw new Error("no entity");
    await person("somebody else");
    await post("identity/group", { name: "any group" });
    const again = async () => shard.entity(entity, first.revision, Date.now());
    expect(await again()).toBe("unchanged");
    expect(await costOf(shard, again)).toEqual({ rowsRead: 1, rowsWritten: 0 });
    await post("identity/group", { name: "its group", member_entity_ids: [entity] });
    expect(await again()).not.toBe("unchanged");
  });

  it("an answer that was under way during a write of this isolate is not kept", async () => {
    const { entity } = await written("racing");
    const old = await loadEntity(cachedEnv, entity);
    if (!old) throw new Error("no entity");
    forgetEntities();
    const views = vi.spyOn(EntityShard.prototype, "entity").mockImplementationOnce(async () => {
      forgetEntities();
      return { ...old, groupIds: [] };
    });
    expect((await loadEntity(cachedEnv, entity))?.policies).toEqual([]);
    views.mockRestore();
    const write = { name: null, metadata: null, policies: ["e"], disabled: null };
    await bindings.IDENTITY.getByName("identity").writeEntity(entity, write, "", "", Date.now());
    expect((await loadEntity(cachedEnv, entity))?.policies).toEqual(["e"]);
  });
});

describe("while a tree waits for an entity", () => {
  it("a token that is revoked meanwhile is refused", async () => {
    const { token } = await person("revoked meanwhile");
    forgetEntities();
    const original = EntityShard.prototype.entity;
    vi.spyOn(EntityShard.prototype, "entity").mockImplementationOnce(async function (
      this: EntityShard,
      id: string,
      known: string | null,
      now: number,
    ) {
      await post("auth/token/revoke", { token });
      return original.call(this, id, known, now);
    } as never);
    expect((await self(token)).status).toBe(403);
  });

  it("uses are counted exactly: 64 requests at once on 10 uses", async () => {
    const { token } = await person("limited", { num_uses: 10 });
    forgetEntities();
    const statuses = await Promise.all(Array.from({ length: 64 }, async () => (await self(token)).status));
    expect(statuses.filter((status) => status === 200)).toHaveLength(10);
  });
});
