import { runInDurableObject } from "cloudflare:test";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { forgetEntities, loadEntity } from "../../../src/identity/entity-copies.ts";
import { entityForLogin } from "../../../src/identity/entity-for-login.ts";
import { countEntities, findEntity, listAliases } from "../../../src/identity/read-entity.ts";
import { shardOfAlias, shardOfEntity } from "../../../src/identity/shard/sharding.ts";
import { entityShard, shardAt } from "../../../src/identity/stubs.ts";
import { checkObjects } from "../../../src/tidy/check-objects.ts";
import { costOf } from "../../support/costs.ts";
import { bindings, call, dataOf, initialized, keysOf } from "../../support/service.ts";
import { alter, changeRows, deleteRows } from "../../support/storage-writer.ts";

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
const place = (name: string) => ({ mountAccessor: mount, name });
const shardFor = (alias: string) => shardAt(bindings, place(alias));

/** The id of the entity of a login, in an isolate that knows nothing of it yet. */
async function login(aliasName: string, metadata: Record<string, string> | null = null): Promise<string> {
  forgetEntities();
  const found = await entityForLogin(bindings, { mountAccessor: mount, name: aliasName, metadata });
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

const exists = async (id: string) => (await findEntity(bindings, { id })) !== null;

describe("an entity", () => {
  it("has both changes of two calls that were waiting for the keys", async () => {
    const { id } = dataOf<{ readonly id: string }>(await post("entity", { name: "twice" }));
    const none = { metadata: null, policies: null, disabled: null };
    await runInDurableObject(entityShard(bindings, shardOfEntity(id) ?? 0), (shard) =>
      Promise.all([
        shard.writeEntity(id, { ...none, disabled: true }, Date.now()),
        shard.writeEntity(id, { ...none, policies: ["p"] }, Date.now()),
      ]),
    );
    expect(await entityOf(id)).toMatchObject({ disabled: true, policies: ["p"] });
  });
});

describe("the entity of a login", () => {
  it("is in the shard of its alias, and found by everything that is known of it", async () => {
    const id = await login("First", { zone: "a" });
    expect(shardOfEntity(id)).toBe(shardOfAlias(place("first")));
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
  });

  it("is the same for logins at once, and whatever the case of the name", async () => {
    const ids = await Promise.all(Array.from({ length: 20 }, (_, i) => login(i % 2 ? "Crowd" : "crowd")));
    expect(new Set(ids).size).toBe(1);
  });

  it("is listed by id, by name and by alias in one order with those that operators wrote", async () => {
    for (let i = 0; i < 12; i++) await login(`listed-${i}`);
    for (const name of ["a-written", "Entity_written", "z-written"]) await post("entity", { name });
    const renamed = await login("listed-renamed");
    await post(`entity/id/${renamed}`, { name: "M-renamed" });
    const moved = (await entityOf(await login("listed-moved"))).aliases[0]?.id ?? "";
    await post(`entity-alias/id/${moved}`, { canonical_id: (await post("entity", {})).body.data.id });
    const lists = ["entity/id", "entity/name", "entity-alias/id"];
    for (const path of lists) {
      const whole = keysOf(await get(`${path}?list=true`));
      const keys = path === "entity/name" ? whole.map((name) => name.toLowerCase()) : whole;
      expect(keys).toEqual(keys.toSorted());
      expect(new Set(keys).size).toBe(keys.length);
      expect(keys.length).toBeGreaterThanOrEqual(12);
      if (path === "entity/name") expect(whole).toContain("M-renamed");
      if (path === "entity-alias/id") expect(whole).toContain(moved);
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
      expect(await exists(id)).toBe(false);
      expect(await loadEntity(bindings, id)).toBeNull();
      expect(await login(`leaving by ${path}`)).not.toBe(id);
    }
  });
});

describe("an operator's write", () => {
  it.each<[string, (id: string, aliasId: string, name: string) => Promise<{ status: number }>]>([
    ["of the entity by id", (id) => post(`entity/id/${id}`, { policies: "e" })],
    ["of the entity by name", (_, __, name) => post(`entity/name/${name}`, { metadata: { a: "b" } })],
    ["of its alias", (_, aliasId) => post(`entity-alias/id/${aliasId}`, { custom_metadata: { a: "b" } })],
    [
      "of another alias for it",
      (id) => post("entity-alias", { name: `other ${id}`, mount_accessor: tokens, canonical_id: id }),
    ],
    ["of a group that it is in", (id) => post("group", { member_entity_ids: [id] })],
  ])("leaves the rest of the entity of a login as it is: %s", async (what, write) => {
    const alias = `written ${what}`;
    const id = await login(alias, { zone: "a" });
    const before = await entityOf(id);
    const aliasId = before.aliases[0]?.id ?? "";
    expect((await write(id, aliasId, before.name)).status).toBeLessThan(300);
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

  it("of a name makes it known by that alone", async () => {
    const id = await login("named");
    const { name } = await entityOf(id);
    expect((await post(`entity/id/${id}`, { name: "Known" })).status).toBe(204);
    expect((await get("entity/name/known")).body.data).toMatchObject({ id, name: "Known" });
    expect((await get(`entity/name/${name}`)).status).toBe(404);
    expect((await loadEntity(bindings, id))?.entity.name).toBe("Known");
    expect((await post("entity", { name: "KNOWN", policies: "e" })).status).toBe(204);
    expect((await entityOf(id)).name).toBe("KNOWN");
  });

  it("of more aliases than a row holds is refused", async () => {
    const id = (await post("entity", { name: "large" })).body.data.id;
    const metadata = Object.fromEntries(Array.from({ length: 64 }, (_, i) => [`n${i}`, "x".repeat(512)]));
    const answers: number[] = [];
    for (let i = 0; i < 20 && answers.at(-1) !== 400; i++) {
      await call("POST", `sys/auth/large-${i}`, { token: root, body: { type: "jwt" } });
      const { accessor } = (await call("GET", `sys/auth/large-${i}`, { token: root })).body.data;
      const body = { name: "large", mount_accessor: accessor, canonical_id: id, custom_metadata: metadata };
      answers.push((await post("entity-alias", body)).status);
    }
    expect(answers.length).toBeGreaterThan(5);
    expect(answers.at(-1)).toBe(400);
    expect((await entityOf(id)).aliases).toHaveLength(answers.length - 1);
  });
});

describe("an alias that an operator writes", () => {
  it("is what logins get the entity by, wherever the entity is, until it goes", async () => {
    const owner = (await post("entity", { name: "owner" })).body.data.id;
    await post("entity-alias", { name: "claimed", mount_accessor: mount, canonical_id: owner });
    expect(await login("Claimed", { zone: "a" })).toBe(owner);
    expect((await loadEntity(bindings, owner))?.entity.aliases[mount]?.metadata).toEqual({ zone: "a" });
    await drop(`entity/id/${owner}`);
    expect(await login("claimed")).not.toBe(owner);
  });

  it("moves to another name, mount or entity, and is found by its id there", async () => {
    const first = await login("mover");
    const { id: alias } = (await entityOf(first)).aliases[0] ?? { id: "" };
    const second = (await post("entity", { name: "second owner" })).body.data.id;
    for (const [fields, owner, name, at] of [
      [{ name: "mover-2" }, first, "mover-2", mount],
      [{ canonical_id: second }, second, "mover-2", mount],
      [{ mount_accessor: tokens }, second, "mover-2", tokens],
      [{ mount_accessor: mount, name: "MOVER-3", canonical_id: first }, first, "MOVER-3", mount],
      [{ canonical_id: second }, second, "MOVER-3", mount],
    ] as const) {
      expect((await post(`entity-alias/id/${alias}`, fields)).status).toBe(200);
      const read = (await get(`entity-alias/id/${alias}`)).body.data;
      expect(read).toMatchObject({ id: alias, canonical_id: owner, name, mount_accessor: at });
      const other = owner === first ? second : first;
      expect((await entityOf(owner)).aliases).toMatchObject([{ id: alias }]);
      expect((await entityOf(other)).aliases).toEqual([]);
      if (at === mount) expect(await login(name)).toBe(owner);
    }
    // Its former names are free.
    expect([first, second]).not.toContain(await login("mover"));
    expect([first, second]).not.toContain(await login("mover-2"));
    await drop(`entity-alias/id/${alias}`);
    expect((await get(`entity-alias/id/${alias}`)).status).toBe(404);
    expect(await login("mover-3")).not.toBe(second);
  });

  it("takes over the alias of the entity of a login, which stays without it", async () => {
    const id = await login("taken over", { zone: "a" });
    const owner = (await post("entity", { name: "taker" })).body.data.id;
    await post("entity-alias", { name: "taken over", mount_accessor: mount, canonical_id: owner });
    expect(await login("Taken Over")).toBe(owner);
    expect((await entityOf(id)).aliases).toEqual([]);
    expect((await loadEntity(bindings, owner))?.entity.aliases[mount]?.metadata).toEqual({ zone: "a" });
  });
});

describe("a row of a shard that was tampered with", () => {
  it("refuses its logins and its tokens, and is logged; an operator's write of the alias repairs it", async () => {
    const alias = "tampered";
    const id = await login(alias, { zone: "a" });
    await alter(shardFor(alias), `UPDATE entities SET content = replace(content, '"a"', '"mine"') WHERE id = ?`, id);
    await expect(login(alias)).rejects.toThrow();
    expect(await loadEntity(bindings, id)).toBeNull();
    expect((await checkObjects(bindings)).tampered).toBeGreaterThanOrEqual(1);
    const owner = (await post("entity", { name: "mender" })).body.data.id;
    await post("entity-alias", { name: alias, mount_accessor: mount, canonical_id: owner });
    expect(await login(alias)).toBe(owner);
    expect((await checkObjects(bindings)).tampered).toBe(0);
  });

  it("does not come back as an alias of another", async () => {
    await login("victim");
    const id = await login("forger");
    await changeRows(shardFor("victim"), "entities", { id: `${id.slice(0, -1)}0` }, { alias_key: "victim" });
    await expect(login("victim")).rejects.toThrow();
    await drop(`entity/id/${id.slice(0, -1)}0`);
    await deleteRows(shardFor("victim"), "entities", { alias_key: "victim" });
  });

  it("leads no login to an entity that does not have the alias", async () => {
    const admin = (await post("entity", { name: "admin", policies: "admin" })).body.data.id;
    const owner = (await post("entity", { name: "plain" })).body.data.id;
    await post("entity-alias", { name: "pointed", mount_accessor: mount, canonical_id: owner });
    await changeRows(shardFor("pointed"), "pointers", { entity_id: admin }, { alias_key: "pointed" });
    expect(await login("pointed")).not.toBe(admin);
  });
});

describe("what it costs", () => {
  it("one row and its index for a new entity; one row read for a login and for a look-up", async () => {
    // The first login of a shard makes its tables.
    await login("cost");
    const shardOf = (name: string) => shardOfAlias(place(name));
    const other = Array.from({ length: 5_000 }, (_, i) => `cost ${i}`).find(
      (name) => shardOf(name) === shardOf("cost"),
    );
    if (other === undefined) throw new Error("no alias of the same shard");
    const shard = shardFor("cost");
    const made = await costOf(shard, () => login(other));
    expect(made.rowsRead).toBeLessThanOrEqual(1);
    expect(made.rowsWritten).toBe(2);
    const id = await login(other);
    expect(await costOf(shard, () => login(other))).toEqual({ rowsRead: 1, rowsWritten: 0 });
    forgetEntities();
    expect(await costOf(shard, () => loadEntity(bindings, id))).toEqual({ rowsRead: 1, rowsWritten: 0 });
    expect(await costOf(shard, () => login(other, { zone: "b" }))).toEqual({ rowsRead: 3, rowsWritten: 1 });
  });

  it("one row in each of two shards for a login by an alias that an operator gave to an entity elsewhere", async () => {
    const id = (await post("entity", { name: "elsewhere" })).body.data.id as string;
    const name = Array.from({ length: 100 }, (_, i) => `elsewhere ${i}`).find(
      (one) => shardOfAlias(place(one)) !== shardOfEntity(id),
    );
    await post("entity-alias", { name, mount_accessor: mount, canonical_id: id });
    await login(name ?? "");
    for (const shard of [shardFor(name ?? ""), entityShard(bindings, shardOfEntity(id) ?? 0)]) {
      expect(await costOf(shard, () => login(name ?? ""))).toEqual({ rowsRead: 1, rowsWritten: 0 });
    }
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
    fc.record({ kind: fc.constant("move" as const), name, owner: fc.nat(1) }),
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
        const holder = (short: string) => findEntity(bindings, { name: full(short), mountAccessor: mount });
        const run = async (one: Step) => {
          if (one.kind === "login") return void (await login(full(one.name)));
          if (one.kind === "attach") {
            const body = { name: full(one.name), mount_accessor: mount, canonical_id: owners[one.owner] };
            return void (await post("entity-alias", body));
          }
          const entity = await holder(one.name);
          const alias = entity?.aliases.find((held) => held.name === full(one.name));
          if (!entity || !alias) return;
          if (one.kind === "move") await post(`entity-alias/id/${alias.id}`, { canonical_id: owners[one.owner] });
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
          for (const id of deleted) expect(await exists(id)).toBe(false);
          const listed = (await listAliases(bindings, "", 10_000)).filter((alias) => alias.name.endsWith(suffix));
          for (const keys of [listed.map((alias) => alias.name.toLowerCase()), listed.map((alias) => alias.id)]) {
            expect(new Set(keys).size).toBe(keys.length);
          }
          for (const alias of listed) {
            const entity = await findEntity(bindings, { name: alias.name, mountAccessor: mount });
            expect([alias.id, entity?.id]).toEqual([alias.id, alias.entityId]);
            expect(await login(alias.name)).toBe(alias.entityId);
          }
        }
      }),
      { numRuns: 8 },
    );
  });
});
