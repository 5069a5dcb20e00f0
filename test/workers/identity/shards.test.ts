import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import fc from "fast-check";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { countEntities, listAliases, readEntity } from "../../../src/identity/entities.ts";
import { Identity } from "../../../src/identity/identity.ts";
import { entityForLogin } from "../../../src/identity/login.ts";
import { shardOfAlias, shardOfEntity } from "../../../src/identity/shard/place.ts";
import { entityShard } from "../../../src/identity/shard/stub.ts";
import { forgetEntities, loadEntity } from "../../../src/identity/standing.ts";
import { checkObjects } from "../../../src/tidy/check-objects.ts";
import { costOf } from "../../support/costs.ts";
import { bindings, call, dataOf, initialized, keysOf } from "../../support/service.ts";

let root: string;
/** The accessor of the mount that logins come from. */
let mount: string;
/** The accessor of another mount, for second aliases. */
let tokens: string;

beforeAll(async () => {
  root = await initialized();
  await call("POST", "sys/auth/machines", { token: root, body: { type: "jwt" } });
  mount = (await call("GET", "sys/auth/machines", { token: root })).body.data.accessor;
  tokens = (await call("GET", "sys/auth/token", { token: root })).body.data.accessor;
});

const post = (path: string, body: unknown) => call("POST", `identity/${path}`, { token: root, body });
const get = (path: string) => call("GET", `identity/${path}`, { token: root });
const drop = (path: string) => call("DELETE", `identity/${path}`, { token: root });
const identity = () => bindings.IDENTITY.getByName("identity");
const shardFor = (alias: string) => entityShard(bindings, shardOfAlias(mount, alias));

/** The id of the entity of a login, in an isolate that knows nothing of it yet. */
async function login(aliasName: string, metadata: Record<string, string> | null = null): Promise<string> {
  forgetEntities();
  const found = await entityForLogin(bindings, { mountAccessor: mount, aliasName, metadata });
  if (!found.ok) throw new Error("the login was refused");
  return found.value.entity.id;
}

interface ShownEntity {
  readonly name: string;
  readonly creation_time: string;
  readonly aliases: readonly { readonly id: string; readonly name: string }[];
}

async function entityOf(id: string): Promise<ShownEntity> {
  return dataOf<ShownEntity>(await get(`entity/id/${id}`));
}

/** Where an entity is. */
async function homeOf(id: string): Promise<"shard" | "identity" | "nowhere"> {
  const shard = shardOfEntity(id);
  if (shard !== null && (await entityShard(bindings, shard).readEntity(id))) return "shard";
  return (await identity().readEntity({ id })) ? "identity" : "nowhere";
}

describe("the entity of a login", () => {
  it("is in the shard of its alias, and found by everything that is known of it", async () => {
    const id = await login("First", { zone: "a" });
    expect(shardOfEntity(id)).toBe(shardOfAlias(mount, "first"));
    expect(await homeOf(id)).toBe("shard");
    const data = await entityOf(id);
    expect(data).toMatchObject({ id, policies: [], disabled: false, metadata: null, group_ids: [] });
    const [alias] = data.aliases;
    if (!alias) throw new Error("the entity has no alias");
    expect(alias).toMatchObject({ name: "First", canonical_id: id, mount_accessor: mount, metadata: { zone: "a" } });
    expect((await get(`entity/name/${data.name.toUpperCase()}`)).body.data.id).toBe(id);
    expect((await get(`entity-alias/id/${alias.id}`)).body.data).toMatchObject({ id: alias.id, canonical_id: id });
    for (const key of [
      { id },
      { name: data.name },
      { alias_id: alias.id },
      { alias_name: "FIRST", alias_mount_accessor: mount },
    ]) {
      expect((await post("lookup/entity", key)).body.data.id).toBe(id);
    }
    expect((await get(`entity-alias/id/${id}`)).status).toBe(404);
    expect((await get(`entity/id/${alias.id}`)).status).toBe(404);
    expect(await homeOf(id)).toBe("shard");
  });

  it("is the same for logins at once, and whatever the case of the name", async () => {
    const ids = await Promise.all(Array.from({ length: 20 }, (_, i) => login(i % 2 ? "Crowd" : "crowd")));
    expect(new Set(ids).size).toBe(1);
  });

  it("is listed by id, by name and by alias in one order with those that operators wrote", async () => {
    for (let i = 0; i < 12; i++) await login(`listed-${i}`);
    for (const name of ["a-written", "Entity_written", "z-written"]) await post("entity", { name });
    const lists = ["entity/id", "entity/name", "entity-alias/id"];
    for (const path of lists) {
      const whole = keysOf(await get(`${path}?list=true`));
      const keys = path === "entity/name" ? whole.map((name) => name.toLowerCase()) : whole;
      expect(keys).toEqual(keys.toSorted());
      expect(new Set(keys).size).toBe(keys.length);
      expect(keys.length).toBeGreaterThanOrEqual(12);
      for (const limit of [1, 4]) {
        const paged: string[] = [];
        for (;;) {
          const page = await get(`${path}?list=true&limit=${limit}&after=${encodeURIComponent(paged.at(-1) ?? "")}`);
          if (page.status === 404) break;
          paged.push(...keysOf(page));
        }
        expect(paged).toEqual(whole);
      }
    }
    const ids = keysOf(await get("entity/id?list=true"));
    expect(await countEntities(bindings, 1_000)).toBe(ids.length);
    expect(await countEntities(bindings, 5)).toBe(5);
    const counted = await call("GET", "sys/internal/counters/entities", { token: root });
    expect(dataOf(counted)).toEqual({ counters: { entities: { total: ids.length } } });
  });

  it("goes when it is deleted, and its alias gets another one at the next login", async () => {
    for (const path of ["id", "name", "batch"]) {
      const id = await login(`leaving by ${path}`);
      const { name } = await entityOf(id);
      const answer = await (path === "batch"
        ? post("entity/batch-delete", { entity_ids: [id] })
        : drop(`entity/${path}/${path === "id" ? id : name}`));
      expect(answer.status).toBe(204);
      expect(await homeOf(id)).toBe("nowhere");
      expect(await loadEntity(bindings, id)).toBeNull();
      expect(await login(`leaving by ${path}`)).not.toBe(id);
    }
  });
});

describe("an operator's first write", () => {
  it.each<[string, (id: string, aliasId: string, name: string) => Promise<{ status: number }>]>([
    ["of the entity by id", (id) => post(`entity/id/${id}`, { policies: "e" })],
    ["of the entity by name", (_, __, name) => post(`entity/name/${name}`, { metadata: { a: "b" } })],
    ["of its alias", (_, aliasId) => post(`entity-alias/id/${aliasId}`, { custom_metadata: { a: "b" } })],
    [
      "of another alias for it",
      (id) => post("entity-alias", { name: `other ${id}`, mount_accessor: tokens, canonical_id: id }),
    ],
    ["of a group that it is in", (id) => post("group", { member_entity_ids: [id] })],
  ])("hands it over to the object of all rules, and nothing else changes: %s", async (what, write) => {
    const alias = `handed ${what}`;
    const id = await login(alias, { zone: "a" });
    const before = await entityOf(id);
    const aliasId = before.aliases[0]?.id ?? "";
    expect((await write(id, aliasId, before.name)).status).toBeLessThan(300);
    expect(await homeOf(id)).toBe("identity");
    const after = await entityOf(id);
    expect(after).toMatchObject({ id, name: before.name, creation_time: before.creation_time });
    expect(after.aliases[0]).toMatchObject({ id: aliasId, name: alias, metadata: { zone: "a" } });
    expect(await login(alias)).toBe(id);
    expect((await loadEntity(bindings, id))?.entity.id).toBe(id);
  });

  it("disables it for the next request", async () => {
    const id = await login("disabled");
    expect(await loadEntity(bindings, id)).toMatchObject({ disabled: false });
    await post(`entity/id/${id}`, { disabled: true });
    expect(await loadEntity(bindings, id)).toMatchObject({ disabled: true });
    await expect(login("disabled")).rejects.toThrow();
  });

  it("of an alias that nobody has leaves it to that object for good", async () => {
    const owner = (await post("entity", { name: "owner" })).body.data.id;
    await post("entity-alias", { name: "claimed", mount_accessor: mount, canonical_id: owner });
    expect(await login("Claimed")).toBe(owner);
    await drop(`entity/id/${owner}`);
    const next = await login("claimed");
    expect(next).not.toBe(owner);
    expect(await homeOf(next)).toBe("identity");
  });
});

describe("a hand-over that is broken off", () => {
  it.each([
    ["before it arrives", false],
    ["after it arrived", true],
  ])("%s is finished by whoever comes next", async (when, arrives) => {
    for (const next of ["login", "view", "list", "delete"]) {
      const alias = `broken off ${when}, then ${next}`;
      const id = await login(alias);
      const original = Identity.prototype.adopt;
      const adopted = vi.spyOn(Identity.prototype, "adopt").mockImplementationOnce(async function (
        this: Identity,
        entity,
      ) {
        if (arrives) await original.call(this, entity);
        throw new Error("the connection was lost");
      });
      expect((await post(`entity/id/${id}`, { policies: "e" })).status).toBe(500);
      adopted.mockRestore();
      if (next === "login") expect(await login(alias)).toBe(id);
      if (next === "view") expect(await loadEntity(bindings, id)).toMatchObject({ policies: [] });
      if (next === "list") expect(keysOf(await get("entity/id?list=true"))).toContain(id);
      if (next === "delete") await drop(`entity/id/${id}`);
      expect(await homeOf(id)).toBe(next === "delete" ? "nowhere" : "identity");
      expect((await login(alias)) === id).toBe(next !== "delete");
    }
  });

  it("and arrives late does not bring back what was deleted since", async () => {
    const id = await login("late");
    const adopted = vi.spyOn(Identity.prototype, "adopt");
    await post(`entity/id/${id}`, { policies: "e" });
    const [told] = adopted.mock.calls[0] ?? [];
    adopted.mockRestore();
    if (!told) throw new Error("nothing was handed over");
    await drop(`entity/id/${id}`);
    await identity().adopt(told);
    expect(await homeOf(id)).toBe("nowhere");
  });
});

describe("aliases from before there were shards", () => {
  it("keep their entities, which are asked for before a new one is made", async () => {
    const owner = (await post("entity", { name: "older" })).body.data.id;
    await runInDurableObject(identity(), async (object, { storage: { sql } }) => {
      sql.exec("UPDATE older_aliases SET exist = 1");
      const write = { name: "From-Before", mountAccessor: mount, entityId: owner, customMetadata: null };
      const ids = { entityId: "none", aliasId: "alias-from-before", entityName: "none" };
      await object.writeAlias(null, write, ids, { mountAccessor: mount, name: "From-Before" }, 0);
    });
    // As a shard that has written nothing yet.
    await runInDurableObject(shardFor("from-before"), (_, { storage: { sql } }) => {
      if (sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'shard'").toArray().length > 0) {
        sql.exec("UPDATE shard SET asks_first = 1");
      }
    });
    // An alias of another test may have woken it: what it remembers is from before.
    await evictDurableObject(shardFor("from-before"));
    expect(await login("from-before")).toBe(owner);
    const asked = vi.spyOn(Identity.prototype, "hasAlias");
    expect(await login("FROM-before")).toBe(owner);
    expect(asked).not.toHaveBeenCalled();
    asked.mockRestore();
  });
});

describe("a row of a shard that was tampered with", () => {
  it("refuses its logins and its tokens, and is on record; an operator's write of the alias mends it", async () => {
    const alias = "tampered";
    const id = await login(alias);
    await runInDurableObject(shardFor(alias), (_, { storage: { sql } }) => {
      sql.exec('UPDATE logins SET metadata = \'{"zone":"mine"}\' WHERE id = ?', id);
    });
    await expect(login(alias)).rejects.toThrow();
    expect(await loadEntity(bindings, id)).toBeNull();
    expect((await checkObjects(bindings)).tampered).toBeGreaterThanOrEqual(1);
    const owner = (await post("entity", { name: "mender" })).body.data.id;
    await post("entity-alias", { name: alias, mount_accessor: mount, canonical_id: owner });
    expect(await login(alias)).toBe(owner);
    expect((await checkObjects(bindings)).tampered).toBe(0);
  });

  it("is not taken for checked when nobody can tell which shards there are", async () => {
    const listed = vi.spyOn(Identity.prototype, "shards").mockImplementationOnce(() => {
      throw new Error("away");
    });
    expect((await checkObjects(bindings)).failures).toBe(1);
    listed.mockRestore();
    expect((await checkObjects(bindings)).failures).toBe(0);
  });

  it("does not come back as an alias of somebody else", async () => {
    await login("victim");
    const id = await login("forger");
    await runInDurableObject(shardFor("victim"), (_, { storage: { sql } }) => {
      sql.exec("UPDATE logins SET id = ? WHERE alias_key = 'victim'", id);
    });
    await expect(login("victim")).rejects.toThrow();
    await drop(`entity/id/${id}`);
    await runInDurableObject(shardFor("victim"), (_, { storage: { sql } }) => {
      sql.exec("DELETE FROM logins WHERE alias_key = 'victim'");
    });
  });
});

describe("what it costs", () => {
  it("one row and its index for a new entity; one row read for a login and for a look-up", async () => {
    // The first login of a shard makes its tables.
    await login("cost");
    const other = Array.from({ length: 5_000 }, (_, i) => `cost ${i}`).find(
      (name) => shardOfAlias(mount, name) === shardOfAlias(mount, "cost"),
    );
    if (other === undefined) throw new Error("no alias of the same shard");
    const shard = shardFor("cost");
    expect(await costOf(shard, () => login(other))).toEqual({ rowsRead: 1, rowsWritten: 2 });
    const id = await login(other);
    expect(await costOf(shard, () => login(other))).toEqual({ rowsRead: 1, rowsWritten: 0 });
    forgetEntities();
    expect(await costOf(shard, () => loadEntity(bindings, id))).toEqual({ rowsRead: 1, rowsWritten: 0 });
  });
});

describe("random histories of logins and operators, two at a time", () => {
  const names = ["alpha", "beta", "gamma"];
  const name = fc.constantFrom(...names);
  const step = fc.oneof(
    fc.record({ kind: fc.constant("login" as const), name }),
    fc.record({ kind: fc.constant("login" as const), name }),
    fc.record({ kind: fc.constant("attach" as const), name, owner: fc.nat(1) }),
    fc.record({ kind: fc.constant("rename" as const), name, to: name }),
    fc.record({ kind: fc.constant("change" as const), name }),
    fc.record({ kind: fc.constant("drop alias" as const), name }),
    fc.record({ kind: fc.constant("drop entity" as const), name }),
  );
  type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

  it("an alias has one entity at most, the one that logins get, and nothing deleted comes back", async () => {
    let history = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(step, step), { minLength: 3, maxLength: 6 }), async (pairs) => {
        const suffix = `of history ${history++}`;
        const full = (short: string) => `${short} ${suffix}`;
        const owners = await Promise.all(
          [0, 1].map(async (i) => (await post("entity", { name: `owner ${i} ${suffix}` })).body.data.id as string),
        );
        const deleted = new Set<string>();
        const holder = (short: string) => readEntity(bindings, { aliasName: full(short), mountAccessor: mount });
        const run = async (one: Step) => {
          if (one.kind === "login") return void (await login(full(one.name)));
          if (one.kind === "attach") {
            const body = { name: full(one.name), mount_accessor: mount, canonical_id: owners[one.owner] };
            return void (await post("entity-alias", body));
          }
          const entity = await holder(one.name);
          const alias = entity?.aliases.find((held) => held.name === full(one.name));
          if (!entity || !alias) return;
          if (one.kind === "rename") await post(`entity-alias/id/${alias.id}`, { name: full(one.to) });
          if (one.kind === "change") await post(`entity/id/${entity.id}`, { metadata: { changed: "yes" } });
          if (one.kind === "drop alias") await drop(`entity-alias/id/${alias.id}`);
          if (one.kind === "drop entity") {
            await drop(`entity/id/${entity.id}`);
            deleted.add(entity.id);
          }
        };
        for (const pair of pairs) {
          await Promise.all(pair.map(run));
          for (const id of deleted) expect(await homeOf(id)).toBe("nowhere");
          const listed = (await listAliases(bindings, "", 10_000)).filter((alias) => alias.name.endsWith(suffix));
          const places = listed.map((alias) => alias.name.toLowerCase());
          expect(new Set(places).size).toBe(places.length);
          for (const alias of listed) {
            const entity = await readEntity(bindings, { aliasName: alias.name, mountAccessor: mount });
            expect([alias.id, entity?.id]).toEqual([alias.id, alias.entityId]);
            expect(await login(alias.name)).toBe(alias.entityId);
          }
        }
      }),
      { numRuns: 8 },
    );
  }, 120_000);
});
