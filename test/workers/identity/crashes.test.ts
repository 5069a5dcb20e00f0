import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import type { Env } from "../../../src/env.ts";
import { Identity } from "../../../src/identity/directory/identity.ts";
import { forgetEntities, loadEntity } from "../../../src/identity/entity-copies.ts";
import { entityForLogin } from "../../../src/identity/entity-for-login.ts";
import type { AliasRecord, EntityAlias } from "../../../src/identity/model.ts";
import { findEntity, listEntities, readAlias } from "../../../src/identity/read-entity.ts";
import { BY_ALIAS_ID } from "../../../src/identity/shard/alias-pointers.ts";
import { EntityShard } from "../../../src/identity/shard/entity-shard.ts";
import { newAliasId, newEntityId, shardOfAlias } from "../../../src/identity/shard/sharding.ts";
import { homeOf, identityOf, shardAt, shardOfId } from "../../../src/identity/stubs.ts";
import { initializedAlone } from "../../support/audit-store.ts";
import { atCalls, atNth } from "../../support/calls.ts";
import { bindings, call } from "../../support/service.ts";

let root: string;
/** The accessor of the mount that logins come from. */
let mount: string;
let made = 0;

beforeAll(async () => {
  root = await initializedAlone();
  await call("POST", "sys/auth/machines", { token: root, body: { type: "jwt" } });
  mount = (await call("GET", "sys/auth/machines", { token: root })).body.data.accessor;
});

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const post = (path: string, body: unknown) => call("POST", `identity/${path}`, { token: root, body });
const get = (path: string) => call("GET", `identity/${path}`, { token: root });
const drop = (path: string) => call("DELETE", `identity/${path}`, { token: root });
const place = (name: string) => ({ mountAccessor: mount, name });
const identity = () => identityOf(bindings);

async function entity(fields: Record<string, unknown> = {}): Promise<string> {
  return (await post("entity", { name: `entity ${made++}`, ...fields })).body.data.id;
}

function home(id: string) {
  const shard = homeOf(bindings, id);
  if (!shard) throw new Error("no id of an entity");
  return shard;
}

/** The id of the entity of a login, in an isolate that knows nothing of it yet. */
async function login(aliasName: string): Promise<string> {
  forgetEntities();
  const found = await entityForLogin(bindings, { mountAccessor: mount, name: aliasName, metadata: null });
  if (!found.ok) throw new Error("the login was refused");
  return found.value.entity.id;
}

async function aliasesOf(id: string): Promise<string[]> {
  return ((await findEntity(bindings, { id }))?.aliases ?? []).map(({ name }) => name);
}

/** What the steps of a write of an alias do, so that a test can stop between two of them as a crash would. */
const steps = {
  reserve: (alias: AliasRecord, before: AliasRecord | null) => {
    const { entityId, ...fields } = alias;
    return home(entityId).reserveAlias(entityId, fields, before?.entityId === entityId ? before : null);
  },
  claim: (alias: AliasRecord, before: AliasRecord | null) => claim(alias, alias.entityId, before),
  claimId: async ({ id, entityId }: AliasRecord) => {
    await shardOfId(bindings, id)?.claimAlias({ mountAccessor: BY_ALIAS_ID, name: id }, entityId, null);
  },
  activate: ({ id, entityId }: AliasRecord) => home(entityId).activateAlias(entityId, id),
};

async function claim(alias: AliasRecord, entityId: string, before: AliasRecord | null): Promise<void> {
  const shard = shardAt(bindings, alias);
  const holder = before && (await shard.aliasHolder(alias));
  expect(await shard.claimAlias(alias, entityId, holder)).toBeNull();
}

function newAlias(name: string, entityId: string): AliasRecord {
  const fields: EntityAlias = {
    id: newAliasId(entityId),
    ...place(name),
    metadata: {},
    customMetadata: {},
    createdAt: Date.now(),
    updatedAt: Date.now(),
  };
  return { ...fields, entityId };
}

async function existing(name: string, entityId: string): Promise<AliasRecord> {
  const answer = await post("entity-alias", { name, mount_accessor: mount, canonical_id: entityId });
  const alias = await readAlias(bindings, answer.body.data.id);
  if (!alias) throw new Error("no alias");
  return alias;
}

describe("a new alias of which the write ends", () => {
  it("after it is reserved is nobody's: a login makes an entity for the name, and the entity never shows it", async () => {
    const owner = await entity();
    await steps.reserve(newAlias("reserved", owner), null);
    expect(await aliasesOf(owner)).toEqual([]);
    expect((await loadEntity(bindings, owner))?.entity.aliases).toEqual({});
    const other = await login("reserved");
    expect(other).not.toBe(owner);
    const again = await post("entity-alias", { name: "reserved", mount_accessor: mount, canonical_id: owner });
    expect([again.status, again.body.data.canonical_id]).toEqual([200, owner]);
    expect(await login("reserved")).toBe(owner);
  });

  it("after it is reserved makes way for another one on the mount", async () => {
    const owner = await entity();
    await steps.reserve(newAlias("first try", owner), null);
    expect(
      (await post("entity-alias", { name: "second try", mount_accessor: mount, canonical_id: owner })).status,
    ).toBe(200);
    expect(await aliasesOf(owner)).toEqual(["second try"]);
    expect(await login("first try")).not.toBe(owner);
  });

  it.each(["a login", "a write", "a read"])("after its name leads to the entity is mended by %s", async (next) => {
    const owner = await entity();
    const name = `claimed, then ${next}`;
    const alias = newAlias(name, owner);
    await steps.reserve(alias, null);
    await steps.claim(alias, null);
    if (next === "a login") expect(await login(name)).toBe(owner);
    if (next === "a write") {
      await post("entity-alias", { name, mount_accessor: mount, canonical_id: owner });
    }
    if (next === "a read") {
      const found = await post("lookup/entity", { alias_name: name, alias_mount_accessor: mount });
      expect(found.body.data.id).toBe(owner);
    }
    expect(await aliasesOf(owner)).toEqual([name]);
    expect(await login(name)).toBe(owner);
  });

  it("after its name leads to an entity that is deleted since goes to a new one", async () => {
    const owner = await entity();
    const alias = newAlias("of the deleted", owner);
    await steps.reserve(alias, null);
    await steps.claim(alias, null);
    // As a deletion that ends after its first step.
    await home(owner).deleteEntities([owner]);
    const other = await login("of the deleted");
    expect(other).not.toBe(owner);
    expect(await login("of the deleted")).toBe(other);
    // What the write still had to do comes too late.
    expect(await steps.activate(alias)).toBe(false);
  });
});

it("the deletion of an entity deletes the pointer to an alias of which the write ended before its last step", async () => {
  const owner = await entity();
  const alias = newAlias("pointed to", owner);
  await steps.reserve(alias, null);
  await steps.claim(alias, null);
  await drop(`entity/id/${owner}`);
  expect(await shardAt(bindings, alias).aliasHolder(alias)).toBeNull();
});

describe("two writes of an alias at once", () => {
  it("give it to one of the two entities, and so does a write beside a login", async () => {
    const [one, other] = [await entity(), await entity()];
    const [first, second] = [newAlias("wanted twice", one), newAlias("wanted twice", other)];
    await steps.reserve(first, null);
    await steps.reserve(second, null);
    await steps.claim(first, null);
    expect(await shardAt(bindings, second).claimAlias(second, other, null)).toMatchObject({ entityId: one });
    for (let i = 0; i < 5; i++) {
      const name = `wanted by all ${i}`;
      const ids = [await entity(), await entity()];
      const write = (id: string) => post("entity-alias", { name, mount_accessor: mount, canonical_id: id });
      const [found] = await Promise.all([login(name), ...ids.map(write)]);
      const holders = [];
      for (const id of [...ids, found]) if ((await aliasesOf(id)).includes(name)) holders.push(id);
      expect(holders).toEqual([await login(name)]);
    }
  });

  it("leave nothing reserved at the entity that does not get it", async () => {
    const [one, other] = [await entity(), await entity()];
    const name = "claimed meanwhile";
    atNth(EntityShard, "claimAlias", 1, async (proceed) => {
      await existing(name, other);
      return proceed();
    });
    const refused = await post("entity-alias", { name, mount_accessor: mount, canonical_id: one });
    expect([refused.status, await login(name)]).toEqual([400, other]);
    expect(await home(one).deleteEntities([one])).toEqual([{ id: one, aliases: [], mergedIds: [] }]);
  });

  it("of which one deletes it leave nothing that the other one renamed", async () => {
    const owner = await entity();
    const before = await existing("deleted meanwhile", owner);
    await drop(`entity-alias/id/${before.id}`);
    // What a write has read before the deletion does not bring it back.
    const renamed = { ...before, name: "renamed too late" };
    expect(await steps.reserve(renamed, before)).toEqual({ ok: true, value: "changed" });
    expect(await login("renamed too late")).not.toBe(owner);
    expect(await aliasesOf(owner)).toEqual([]);
  });

  const WRITES = {
    rename: (name: string) => ({ name: `${name} renamed` }),
    move: (_: string, to: string) => ({ canonical_id: to }),
    metadata: () => ({ custom_metadata: { team: "a" } }),
  } as const;
  const STEPS = ["reserveAlias", "claimAlias", "activateAlias"] as const;
  const PAIRS = [
    ["rename", "metadata"],
    ["metadata", "rename"],
    ["rename", "move"],
    ["move", "rename"],
    ["move", "metadata"],
  ] as const;

  it.each(PAIRS.flatMap(([one, other]) => STEPS.map((step) => [one, other, step] as const)))(
    "of one alias, a %s with a %s before its %s, undo nothing that was answered",
    async (one, other, step) => {
      const [from, to] = [await entity(), await entity()];
      const name = `${one}, ${other}, ${step}`;
      const { id } = await existing(name, from);
      const write = (which: keyof typeof WRITES) => post(`entity-alias/id/${id}`, WRITES[which](name, to));
      let meanwhile = 0;
      atNth(EntityShard, step, 1, async (proceed) => {
        meanwhile = (await write(other)).status;
        return proceed();
      });
      expect((await write(one)).status).toBe(200);
      // Once the name leads to the new owner, the alias is at both for a moment.
      const isAmidMove = one === "move" && other === "metadata" && step === "activateAlias";
      expect(meanwhile).toBe(isAmidMove ? 503 : 200);
      const done = new Set([one, ...(isAmidMove ? [] : [other])]);
      const alias = await readAlias(bindings, id);
      expect(alias).toMatchObject({
        entityId: done.has("move") ? to : from,
        name: done.has("rename") ? `${name} renamed` : name,
        customMetadata: done.has("metadata") ? { team: "a" } : {},
      });
      expect(await login(alias?.name ?? "")).toBe(alias?.entityId);
    },
  );

  it.each([
    ["a name that it left goes back to it", (id: string) => post(`entity-alias/id/${id}`, { name: "left and back" })],
    ["it is deleted, and made again", (id: string) => drop(`entity-alias/id/${id}`)],
  ])("leave the name to the entity when %s before the first write has cleaned up", async (what, first) => {
    const owner = await entity();
    const { id } = await existing(what, owner);
    let meanwhile = 0;
    atNth(EntityShard, "releaseAlias", 1, async (proceed) => {
      const again = { name: what, mount_accessor: mount, canonical_id: owner };
      const isThere = (await readAlias(bindings, id)) !== null;
      meanwhile = (await post(isThere ? `entity-alias/id/${id}` : "entity-alias", again)).status;
      return proceed();
    });
    expect((await first(id)).status).toBeLessThan(300);
    expect(meanwhile).toBe(200);
    expect([await login(what), await aliasesOf(owner)]).toEqual([owner, [what]]);
  });

  it("of which one is a login that saw an older pointer leave the newer one", async () => {
    const [one, other] = [await entity(), await entity()];
    const alias = newAlias("led elsewhere", one);
    const shard = shardAt(bindings, alias);
    await shard.claimAlias(alias, one, null);
    const seen = await shard.aliasHolder(alias);
    await existing("led elsewhere", other);
    const said = { metadata: null, customMetadata: {} };
    const found = await shard.logIn(alias, said, newEntityId(shardOfAlias(alias)), seen, Date.now());
    expect(found).toMatchObject({ ok: true, value: { holder: { entityId: other } } });
    expect(await login("led elsewhere")).toBe(other);
  });

  it("give an alias that both move to where one of them says", async () => {
    for (let i = 0; i < 5; i++) {
      const ids = [await entity(), await entity(), await entity()];
      const { id: alias } = await existing(`moved twice ${i}`, ids[0] ?? "");
      await Promise.all(ids.slice(1).map((id) => post(`entity-alias/id/${alias}`, { canonical_id: id })));
      const holders = [];
      for (const id of ids) if ((await aliasesOf(id)).length > 0) holders.push(id);
      expect(holders).toEqual([await login(`moved twice ${i}`)]);
    }
  });
});

describe("a new name of an alias of which the write ends", () => {
  it.each([
    ["when it is reserved", 1, ["old"]],
    ["when it leads to the entity", 2, ["old", "new"]],
    ["when the entity has it", 3, ["new"]],
  ])("%s leaves the entity those names alone, and the next write all right", async (when, done, names) => {
    const owner = await entity();
    const full = (short: string) => `${short} ${when}`;
    const before = await existing(full("old"), owner);
    const after = { ...before, name: full("new") };
    await steps.reserve(after, before);
    if (done >= 2) await steps.claim(after, null);
    if (done >= 3) await steps.activate(after);
    // A login by the new name is what makes it the alias, so it comes last.
    for (const short of ["old", "new"]) {
      const found = await login(full(short));
      expect([short, found === owner]).toEqual([short, names.includes(short)]);
    }
    const answer = await post(`entity-alias/id/${before.id}`, { name: full("newest") });
    expect(answer.status).toBe(200);
    expect(await aliasesOf(owner)).toEqual([full("newest")]);
    expect(await login(full("newest"))).toBe(owner);
    for (const short of ["old", "new"]) expect(await login(full(short))).not.toBe(owner);
  });
});

describe("a move of an alias to another entity of which the write ends", () => {
  it.each([
    ["when it is reserved", 1],
    ["when its name leads there", 2],
    ["when its id leads there", 3],
    ["when the other entity has it", 4],
  ])("%s has one owner for logins, and is finished by a repeat", async (when, done) => {
    const [from, to] = [await entity(), await entity()];
    const name = `moved ${when}`;
    const before = await existing(name, from);
    const after = { ...before, entityId: to };
    await steps.reserve(after, before);
    if (done >= 2) await steps.claim(after, before);
    if (done >= 3) await steps.claimId(after);
    if (done >= 4) await steps.activate(after);
    expect(await login(name)).toBe(done >= 2 ? to : from);
    const repeated = await post(`entity-alias/id/${before.id}`, { canonical_id: to });
    expect(repeated.status).toBeLessThan(300);
    expect([await aliasesOf(from), await aliasesOf(to)]).toEqual([[], [name]]);
    expect(await login(name)).toBe(to);
    expect((await get(`entity-alias/id/${before.id}`)).body.data.canonical_id).toBe(to);
    await drop(`entity-alias/id/${before.id}`);
    expect([await aliasesOf(from), await aliasesOf(to)]).toEqual([[], []]);
  });
});

describe("a deletion that ends after its first step", () => {
  it("of an alias leaves a name that leads to nobody, and to a new entity at the next login", async () => {
    const owner = await entity();
    const { id } = await existing("dropped", owner);
    await home(owner).dropAlias(owner, id);
    const found = await post("lookup/entity", { alias_name: "dropped", alias_mount_accessor: mount });
    expect(found.status).toBe(204);
    expect(await login("dropped")).not.toBe(owner);
  });

  it("of an alias at an entity that has lost it says so, and takes nothing from that entity", async () => {
    const [owner, other] = [await entity(), await entity()];
    const { id } = await existing("moved on", owner);
    await existing("not moved", other);
    expect(await home(other).dropAlias(other, id)).toBe(false);
    expect([await aliasesOf(owner), await aliasesOf(other)]).toEqual([["moved on"], ["not moved"]]);
  });

  it("of an alias that other writes move each time is answered 503, and the alias stays", async () => {
    const owner = await entity();
    const { id } = await existing("contended", owner);
    atCalls(EntityShard, "dropAlias", () => false);
    const refused = await call("DELETE", `identity/entity-alias/id/${id}`, { token: root });
    expect([refused.status, refused.body.errors]).toEqual([503, ["the alias is being changed; try again"]]);
    expect((await get(`entity-alias/id/${id}`)).status).toBe(200);
  });

  it("of an entity refuses its tokens, frees its name and its aliases, and is finished by a repeat", async () => {
    const owner = await entity({ name: "half deleted" });
    const group = (await post("group", { member_entity_ids: [owner] })).body.data.id;
    await existing("of half deleted", owner);
    await home(owner).deleteEntities([owner]);
    forgetEntities();
    expect(await loadEntity(bindings, owner)).toBeNull();
    expect((await get("entity/name/half deleted")).status).toBe(404);
    expect((await get(`group/id/${group}`)).body.data.member_entity_ids).toEqual([owner]);
    await drop(`entity/id/${owner}`);
    expect((await get(`group/id/${group}`)).body.data.member_entity_ids).toEqual([]);
  });

  it.each(["a new entity", "another one"])(
    "of an entity leaves its name to %s, and never comes back by it",
    async (next) => {
      const name = `left to ${next}`;
      const owner = await entity({ name });
      await home(owner).deleteEntities([owner]);
      const other = next === "another one" ? await entity() : null;
      const answer = await post(other ? `entity/id/${other}` : "entity", { name });
      expect(answer.status).toBeLessThan(300);
      const id = (await get(`entity/name/${name}`)).body.data.id;
      expect(id).toBe(other ?? answer.body.data.id);
      expect(id).not.toBe(owner);
      expect(await findEntity(bindings, { id: owner })).toBeNull();
    },
  );
});

describe("a new entity of which the write ends before it has its name", () => {
  it("is one without a name, and the next write makes another one", async () => {
    const id = newEntityId(9);
    await home(id).createEntity(id, { metadata: null, policies: ["e"], disabled: null }, Date.now());
    const other = (await post("entity", { name: "second try of a name" })).body.data.id;
    expect(other).not.toBe(id);
    expect((await findEntity(bindings, { id }))?.name).toMatch(/^entity_[0-9a-f]{20}\.root$/);
    expect((await drop(`entity/id/${id}`)).status).toBe(204);
  });

  it("since other writes take the name each time is answered 503, and is not there", async () => {
    const owner = await entity();
    const taken = atCalls(Identity, "nameEntity", () => {
      if (taken.calls.length > 20) throw new Error("the write has not given up");
      return owner;
    });
    const refused = await post("entity", { name: "taken each time", policies: "taken-each-time" });
    expect([refused.status, refused.body.errors]).toEqual([503, ["the name is being changed; try again"]]);
    const left = (await listEntities(bindings, "", 10_000)).filter(({ policies }) =>
      policies.includes("taken-each-time"),
    );
    expect(left).toEqual([]);
  });

  it("and is made by several at once is one entity in the end", async () => {
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => post("entity", { name: "Raced", policies: "e" })),
    );
    expect(answers.every(({ status }) => status < 300)).toBe(true);
    const { id } = (await get("entity/name/raced")).body.data;
    const all = await listEntities(bindings, "", 10_000);
    expect(all.filter(({ name }) => name === "Raced").map((one) => one.id)).toEqual([id]);
  });
});

describe("what the directory decides while the home of an entity does not answer", () => {
  const awayEnv: Env = {
    ...bindings,
    ENTITY_SHARD: {
      ...bindings.ENTITY_SHARD,
      getByName: () => {
        throw new Error("away");
      },
    } as unknown as Env["ENTITY_SHARD"],
  };
  const policies = async (id: string) => {
    forgetEntities();
    return (await loadEntity(bindings, id))?.policies;
  };
  const nothing = { name: null, type: null, metadata: null, policies: null, memberGroupIds: null };
  const setMembers = (group: string, memberEntityIds: string[]) =>
    runInDurableObject(identity(), async (_, state) => {
      const write = { ...nothing, memberEntityIds };
      await expect(new Identity(state, awayEnv).writeGroup(group, write, Date.now())).rejects.toThrow("away");
    });

  it.each(["the alarm", "the next change of another entity"])("is no success, and arrives with %s", async (next) => {
    const id = await entity();
    const group = (await post("group", { policies: "g" })).body.data.id;
    await setMembers(group, [id]);
    expect(await policies(id)).toEqual([]);
    if (next === "the alarm") expect(await runDurableObjectAlarm(identity())).toBe(true);
    else await post("group", { member_entity_ids: [await entity()] });
    expect(await policies(id)).toEqual(["g"]);
    await setMembers(group, []);
    expect(await policies(id)).toEqual(["g"]);
    await post(`group/id/${group}`, { member_entity_ids: [] });
    expect(await policies(id)).toEqual([]);
  });

  it("arrives with the one before it, which was on its way", async () => {
    const id = await entity();
    const groupWith = async (policies: string) => (await post("group", { policies })).body.data.id;
    const [first, second] = [await groupWith("f"), await groupWith("s")];
    atNth(EntityShard, "putDirectoryEntries", 1, async (proceed) => {
      await setMembers(second, [id]);
      return proceed();
    });
    await post(`group/id/${first}`, { member_entity_ids: [id] });
    expect(await policies(id)).toEqual(["f", "s"]);
  });

  it("is tried again and again by the alarm", async () => {
    vi.spyOn(console, "error").mockReturnValue(undefined);
    const id = await entity();
    const group = (await post("group", { policies: "g" })).body.data.id;
    await setMembers(group, [id]);
    for (let i = 0; i < 2; i++) {
      await runInDurableObject(identity(), async (_, state) => {
        await state.storage.deleteAlarm();
        await new Identity(state, awayEnv).alarm();
        expect(await state.storage.getAlarm()).toBeGreaterThan(Date.now());
      });
    }
    expect(await policies(id)).toEqual([]);
    expect(await runDurableObjectAlarm(identity())).toBe(true);
    expect(await policies(id)).toEqual(["g"]);
  });

  it("that arrives late or twice does not undo what is newer", async () => {
    const id = await entity({ name: "late" });
    const group = (await post("group", { policies: "g", member_entity_ids: [id] })).body.data.id;
    const entry = { entityId: id, name: "late", groupIds: [group] };
    const late = Date.now();
    await post(`group/id/${group}`, { member_entity_ids: [] });
    await home(id).putDirectoryEntries([entry], late);
    expect(await policies(id)).toEqual([]);
    await home(id).putDirectoryEntries([entry], Date.now() + 10_000);
    expect(await policies(id)).toEqual(["g"]);
  });
});

describe("what is written while its entity ends", () => {
  const members = async (group: string) => (await get(`group/id/${group}`)).body.data.member_entity_ids;
  const mergeInto = async (source: string) => {
    const target = await entity();
    expect((await post("entity/merge", { to_entity_id: target, from_entity_ids: [source] })).status).toBe(204);
    return target;
  };

  it("is forgotten: a membership of a deleted entity", async () => {
    const [gone, other] = [await entity(), await entity()];
    atNth(Identity, "writeGroup", 1, async (proceed) => {
      await drop(`entity/id/${gone}`);
      return proceed();
    });
    const group = (await post("group", { member_entity_ids: [gone, other] })).body.data.id;
    expect(await members(group)).toEqual([other]);
  });

  it("is for the other one: a membership of an entity that is merged", async () => {
    const source = await entity();
    let target = "";
    atNth(Identity, "writeGroup", 1, async (proceed) => {
      target = await mergeInto(source);
      return proceed();
    });
    const group = (await post("group", { member_entity_ids: [source] })).body.data.id;
    expect(await members(group)).toEqual([target]);
    expect((await get(`entity/id/${target}`)).body.data.group_ids).toEqual([group]);
  });

  it.each([
    ["joins", [], ["late"]],
    ["leaves", ["late"], []],
  ])("is for the other one: a group that a login %s", async (how, before, after) => {
    const group = (await post("group", { type: "external" })).body.data.id;
    await post("group-alias", { name: "late", mount_accessor: mount, canonical_id: group });
    const alias = { mountAccessor: mount, name: `merged when a login ${how}`, metadata: null };
    const source = await login(alias.name);
    await entityForLogin(bindings, { ...alias, groups: before });
    let target = "";
    atNth(Identity, "setLoginGroups", 1, async (proceed) => {
      target = await mergeInto(source);
      return proceed();
    });
    const found = await entityForLogin(bindings, { ...alias, groups: after });
    const groups = after.map(() => ({ id: group }));
    expect(found).toMatchObject({ ok: true, value: { entity: { id: target }, groups } });
    expect(await members(group)).toEqual(after.length === 0 ? null : [target]);
    await drop(`group/id/${group}`);
  });

  it("is free: the name of a deleted entity", async () => {
    const gone = await entity();
    atNth(Identity, "nameEntity", 1, async (proceed) => {
      await drop(`entity/id/${gone}`);
      return proceed();
    });
    expect((await post(`entity/id/${gone}`, { name: "named too late" })).status).toBe(400);
    expect(await identity().entityOfName("named too late")).toBeNull();
  });

  it.each([
    ["where it was made", "is deleted", 400, (to: string) => drop(`entity/id/${to}`)],
    ["where it had moved", "is deleted", 400, (to: string) => drop(`entity/id/${to}`)],
    ["where it was made", "loses it", 503, (to: string, id: string) => home(to).dropReservedAlias(to, id)],
  ] as const)("stays %s: an alias that moves to an entity which %s", async (where, how, status, end) => {
    const [from, to] = [await entity(), await entity()];
    const name = `stays ${where} when the other ${how}`;
    const { id } = await existing(name, where === "where it was made" ? from : await entity());
    if (where === "where it had moved") await post(`entity-alias/id/${id}`, { canonical_id: from });
    const ending = atCalls(EntityShard, "activateAlias", async ({ proceed }) => {
      await end(to, id);
      return proceed();
    });
    expect((await post(`entity-alias/id/${id}`, { canonical_id: to })).status).toBe(status);
    ending.end();
    expect(await login(name)).toBe(from);
    expect((await get(`entity-alias/id/${id}`)).body.data.canonical_id).toBe(from);
    const byId = await shardOfId(bindings, id)?.aliasHolder({ mountAccessor: BY_ALIAS_ID, name: id });
    expect(byId?.entityId).toBe(where === "where it was made" ? undefined : from);
    const next = await entity();
    expect((await post(`entity-alias/id/${id}`, { canonical_id: next })).status).toBe(200);
    expect([await login(name), await aliasesOf(from)]).toEqual([next, []]);
  });
});
