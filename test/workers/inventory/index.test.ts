import { runInDurableObject } from "cloudflare:test";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { randomBytes, toHex } from "../../../src/crypto/bytes.ts";
import { ACCESSOR_SHARD_MIGRATIONS, type AccessorShard } from "../../../src/listing/accessor-shard.ts";
import { accessorShard } from "../../../src/listing/accessor-shards.ts";
import {
  createdAtOf,
  type InventoryEntry,
  type ListedToken,
  TOKEN_MOUNT,
} from "../../../src/listing/inventory/entry.ts";
import { matches, type TokenFilter } from "../../../src/listing/inventory/filter.ts";
import { countsOf, type TreeGrouping } from "../../../src/listing/inventory/index-terms.ts";
import { keyOf, NEVER, type Order, type OrderPosition } from "../../../src/listing/inventory/page-cursor.ts";
import { mergePages } from "../../../src/listing/inventory/queries.ts";
import { InventoryStore } from "../../../src/listing/inventory/shard/inventory-store.ts";
import { ID_PROBES } from "../../../src/listing/inventory/shard/tables.ts";
import type { EndsQuery } from "../../../src/listing/inventory/tree-groups.ts";
import type { ShardUpdates } from "../../../src/listing/updates/publish.ts";
import { Tables } from "../../../src/storage/tables.ts";
import { firstRowAt, routedIdText } from "../../../src/token/ids.ts";
import { costOf } from "../../support/costs.ts";
import { rowsOf } from "../../support/rows.ts";
import { bindings } from "../../support/service.ts";

const BEGIN = Date.UTC(2026, 5, 1);
const HOUR = 3_600_000;
/** No alarm ends what ends then. */
const LATER = Date.UTC(2090, 0, 1);
const TREES = [1, 2, 3].map(() => toHex(randomBytes(32)));

const NO_UPDATES: ShardUpdates = { made: [], changed: [], sizes: [], started: [] };

type Facts = Partial<Omit<InventoryEntry, "accessor">> & { readonly tree?: number };

function entryAt(row: number, { tree = 0, ...facts }: Facts = {}): InventoryEntry {
  return {
    accessor: routedIdText(TREES[tree] ?? "", row, randomBytes(24)),
    parent: null,
    first: false,
    mount: TOKEN_MOUNT,
    path: "auth/token/create",
    role: "",
    displayName: "token",
    policies: ["default"],
    entityId: "",
    expiresAt: BEGIN + 1000 * HOUR,
    renewedAt: null,
    leased: true,
    numUses: 0,
    usesLeft: 0,
    period: 0,
    explicitMaxTtl: 0,
    children: 0,
    lastUsed: null,
    ...facts,
  };
}

/** A shard with these entries, listed and described as trees do it. */
async function filled(name: number, entries: readonly InventoryEntry[]): Promise<DurableObjectStub<AccessorShard>> {
  const shard = accessorShard(bindings, name);
  await runInDurableObject(shard, async (object) => {
    for (let at = 0; at < entries.length; at += 500) {
      object.applyUpdates({ ...NO_UPDATES, made: entries.slice(at, at + 500) });
    }
  });
  return shard;
}

it("updates that fail in their middle leave no row without its postings", async () => {
  const shard = accessorShard(bindings, 15);
  const [full, good, next] = [BEGIN, BEGIN + HOUR, BEGIN + 2 * HOUR].map((at) => firstRowAt(at));
  const entryOf = (row = 0) => entryAt(row, { expiresAt: LATER, displayName: "in the middle" });
  const page = () =>
    runInDurableObject(shard, (object, { storage }) => {
      const query = { filter: { displayName: "in the middle" }, order: { by: "created", descending: false } } as const;
      const where = { shard: 15, after: null, limit: 10, now: BEGIN };
      // As after an eviction: nothing is in memory.
      const pages = new InventoryStore(new Tables(storage.sql, ACCESSOR_SHARD_MIGRATIONS)).pages;
      return [object.inventoryPage({ ...query, ...where }), pages.page({ ...query, ...where })].map(
        ({ tokens }) => tokens.length,
      );
    });
  await runInDurableObject(shard, (object) => {
    const others = Array.from({ length: ID_PROBES }, (_, at) => entryAt((full ?? 0) + at, { expiresAt: LATER }));
    object.applyUpdates({ ...NO_UPDATES, made: others });
    const made = [entryOf(good), entryOf(full)];
    expect(() => object.applyUpdates({ ...NO_UPDATES, made })).toThrow("no id is free");
    expect(object.findListed(made.map(({ accessor }) => accessor))).toEqual([]);
  });
  expect(await page()).toEqual([0, 0]);
  await runInDurableObject(shard, (object) => object.applyUpdates({ ...NO_UPDATES, made: [entryOf(next)] }));
  expect(await page()).toEqual([1, 1]);
});

it("a page costs the same however many tokens there are, in every order and with every kind of filter", async () => {
  const facts = (i: number): Facts => ({
    tree: i % 3,
    displayName: `node-${i}`,
    policies: ["default", i % 1000 === 7 ? "rare" : "common"],
    role: i % 2 ? "builder" : "",
    expiresAt: i % 5 ? BEGIN + HOUR + i * 60_000 : null,
  });
  const entries = Array.from({ length: 7000 }, (_, i) => entryAt(firstRowAt(BEGIN) + i * 4096, facts(i)));
  const small = await filled(0, entries.slice(0, 1750));
  const large = await filled(1, entries);
  const costs = async (filter: TokenFilter, by: Order["by"]) => {
    const query = { filter, order: { by, descending: false }, after: null, shard: 0, limit: 20, now: BEGIN };
    const read = async (shard: DurableObjectStub<AccessorShard>) => {
      // A shard that nothing has asked for a while begins anew, and reads once what is not in its tables yet.
      await shard.countMounts("tokens");
      return (await costOf(shard, async () => shard.inventoryPage(query))).rowsRead;
    };
    return [await read(small), await read(large)];
  };
  expect(await costs({}, "created")).toEqual([22, 22]);
  expect(await costs({}, "end")).toEqual([22, 22]);
  // The index of the term is read up to a bound first: whether it is worth reading as a whole.
  expect(await costs({ role: "builder" }, "created")).toEqual([101, 101]);
  expect(await costs({ policy: "rare" }, "end")).toEqual([8, 23]);
  expect(await costs({ mount: TOKEN_MOUNT }, "end")).toEqual([25, 25]);
  expect(await costs({ pathPrefix: "auth/aws/" }, "created")).toEqual([1, 1]);
  // What no index has is looked for in a bounded number of tokens.
  expect(await costs({ orphan: false }, "created")).toEqual([1002, 1002]);
  expect(await costs({ neverEnds: true }, "created")).toEqual([323, 323]);
  expect(await costs({ endsBefore: BEGIN + 2 * HOUR }, "created")).toEqual([49, 49]);
  const search = (text: string, entities: string[] = []) => ({ search: { text, entities } });
  expect(await costs(search("NODE-149"), "created")).toEqual([89, 89]);
  expect(await costs(search("NODE-149"), "end")).toEqual([89, 89]);
  expect(await costs(search("not there at all"), "end")).toEqual([1, 1]);
  // Terms, and tokens of a term, are read up to a bound: whether all that is found can be put in order.
  expect(await costs(search("builder"), "created")).toEqual([102, 112]);
  expect(await costs(search("node-"), "created")).toEqual([322, 322]);
  // An accessor is found by its beginning at once. For any other part of one all accessors are read, and nothing else of the tokens.
  const accessor = entries[2]?.accessor ?? "";
  expect(await costs(search(accessor), "created")).toEqual([6, 6]);
  expect(await costs(search(accessor.slice(60, 80)), "created")).toEqual([1756, 7006]);
  const never = { filter: { neverEnds: true }, order: { by: "created", descending: true }, shard: 1 } as const;
  const newest = await large.inventoryPage({ ...never, after: null, limit: 3, now: BEGIN });
  const next = await large.inventoryPage({ ...never, after: newest.upTo, limit: 2, now: BEGIN });
  expect([...newest.tokens, ...next.tokens].map(({ displayName }) => displayName)).toEqual(
    [6995, 6990, 6985, 6980, 6975].map((i) => `node-${i}`),
  );
  const counters = async (shard: DurableObjectStub<AccessorShard>) =>
    (await costOf(shard, async () => shard.groups("policy", [TOKEN_MOUNT]))).rowsRead;
  expect([await counters(small), await counters(large)]).toEqual([8, 8]);
});

it("a page within the tokens that never end costs the same however many of them are before it, in both orders", async () => {
  const entries = Array.from({ length: 6000 }, (_, i) =>
    entryAt(firstRowAt(BEGIN) + i * 4096, { expiresAt: i % 2 ? null : BEGIN + HOUR + i }),
  );
  const shard = await filled(3, entries);
  const pageAfter = async (at: number, descending: boolean) => {
    const [row] = await shard.findListed([entries[at]?.accessor ?? ""]);
    const after = { key: NEVER, id: row?.id ?? 0, shard: 3 };
    const query = { filter: {}, order: { by: "end", descending }, after, shard: 3, limit: 20, now: BEGIN } as const;
    const { tokens } = await shard.inventoryPage(query);
    const cost = await costOf(shard, async () => shard.inventoryPage(query));
    return { first: tokens[0]?.accessor, read: cost.rowsRead };
  };
  const read = expect.toSatisfy((rows: number) => rows <= 23);
  expect(await pageAfter(5001, false)).toEqual({ first: entries[5003]?.accessor, read });
  expect(await pageAfter(1001, true)).toEqual({ first: entries[999]?.accessor, read });
  // The tokens after these positions have expired, or end after the times of the filter.
  const pageBeside = async (key: number, descending: boolean, filter: TokenFilter, now: number) => {
    const after = { key, id: 0, shard: 3 };
    const query = { filter, order: { by: "end", descending }, after, shard: 3, limit: 20, now } as const;
    const { tokens } = await shard.inventoryPage(query);
    return [tokens.length, (await costOf(shard, async () => shard.inventoryPage(query))).rowsRead];
  };
  expect(await pageBeside(BEGIN, true, {}, BEGIN + 2 * HOUR)).toEqual([0, 1]);
  const many = { endsBefore: BEGIN + HOUR + 5000 };
  expect(await pageBeside(NEVER, false, many, BEGIN)).toEqual([0, 302]);
  const order = { by: "created", descending: false } as const;
  const crafted = { filter: {}, order, after: { key: NEVER, id: 0, shard: 3 }, shard: 3, limit: 20, now: BEGIN };
  expect((await costOf(shard, async () => shard.inventoryPage(crafted))).rowsRead).toBeLessThanOrEqual(1);
});

it("a token costs a shard five rows when it is made alone and four when it goes, and many at once four each", async () => {
  const shard = accessorShard(bindings, 5);
  let row = firstRowAt(BEGIN);
  const entry = (facts: Facts = {}) => {
    row += 4096;
    return entryAt(row, { role: "builder", policies: ["default", "web"], ...facts });
  };
  const written = async (work: () => Promise<unknown>) => (await costOf(shard, work)).rowsWritten;
  const hear = (news: Partial<ShardUpdates>) => Promise.resolve(shard.applyUpdates({ ...NO_UPDATES, ...news }));
  const first = entry({ first: true });
  await hear({ made: [first] });
  const alone = entry();
  // The row with three indexes, and the one that has what is not in the lists and counters yet.
  expect(await written(() => hear({ made: [alone] }))).toBe(5);
  expect(
    await written(() => hear({ changed: [{ ...first, children: 1 }], sizes: [{ root: first.accessor, count: 9 }] })),
  ).toBe(2);
  expect(
    await written(() => hear({ changed: [{ ...first, children: 2 }], sizes: [{ root: first.accessor, count: 9 }] })),
  ).toBe(1);
  expect(await written(() => hear({ changed: [{ ...alone, renewedAt: BEGIN }] }))).toBe(1);
  // Its own row, that of the batch, and the one that says how it ended, with an index.
  expect(await written(async () => shard.remove([alone.accessor]))).toBe(4);
  // Tokens of one kind share the rows of lists and counters: 24 of them for all that changed so far, and three for texts that
  // searches find and that no token had before.
  const many = Array.from({ length: 200 }, () => entry());
  const cost = await written(() => hear({ made: many }));
  expect(cost).toBe(4 * many.length + 27);
});

it("tokens with as many policies and as long names as one can have are taken one by one, and found", async () => {
  const shard = accessorShard(bindings, 12);
  const entries = Array.from({ length: 20 }, (_, i) => {
    const policies = Array.from({ length: 900 }, (_, at) => `${i}-${at}-${"x".repeat(240)}`);
    return entryAt(firstRowAt(BEGIN) + i * 4096, { policies });
  });
  for (const entry of entries) await shard.applyUpdates({ ...NO_UPDATES, made: [entry] });
  const found = entries.map(async ({ policies: [, policy = ""] }) => {
    const order: Order = { by: "created", descending: false };
    const page = await shard.inventoryPage({ filter: { policy }, order, after: null, shard: 12, limit: 2, now: BEGIN });
    return page.tokens.map(({ accessor }) => accessor);
  });
  expect(await Promise.all(found)).toEqual(entries.map(({ accessor }) => [accessor]));
});

it("trees are named by their size, the largest first, and with the size goes its name", async () => {
  const shard = accessorShard(bindings, 6);
  const roots = Array.from({ length: 12 }, (_, i) => entryAt(firstRowAt(BEGIN) + i * 4096, { first: true }));
  const sizes = roots.map(({ accessor }, i) => ({ root: accessor, count: 1 + i * i * 7 }));
  await shard.applyUpdates({ ...NO_UPDATES, made: roots, sizes });
  const counts = async () => (await shard.largestTrees(TOKEN_MOUNT)).map(({ count }) => count);
  expect(await counts()).toEqual(
    sizes
      .map(({ count }) => count)
      .filter((count) => count > 1)
      .sort((a, b) => b - a),
  );
  const [, second, third] = sizes.map(({ root }) => root);
  await shard.applyUpdates({
    ...NO_UPDATES,
    sizes: [
      { root: second ?? "", count: 100_000 },
      { root: third ?? "", count: 1 },
    ],
  });
  expect((await counts()).slice(0, 2)).toEqual([100_000, 848]);
  expect(await counts()).not.toContain(29);
  await shard.remove([second ?? ""]);
  expect(await counts()).not.toContain(100_000);
});

it("tokens of one tree are found in order, however many others there are", async () => {
  const entries = Array.from({ length: 1500 }, (_, i) =>
    entryAt(firstRowAt(BEGIN) + i * 4096, { tree: i % 3 ? 0 : 1 }),
  );
  const shard = await filled(7, entries);
  const page = async (tree: number, after: OrderPosition | null, descending = false) =>
    shard.inventoryPage({
      filter: { tree: TREES[tree] ?? "" },
      order: { by: "created", descending },
      ...{ after, shard: 7, limit: 2, now: BEGIN },
    });
  const first = await page(0, null);
  const next = await page(0, first.upTo);
  const accessors = entries.map(({ accessor }) => accessor);
  expect([...first.tokens, ...next.tokens].map(({ accessor }) => accessors.indexOf(accessor))).toEqual([1, 2, 4, 5]);
  const last = await page(1, null, true);
  expect(last.tokens.map(({ accessor }) => accessors.indexOf(accessor))).toEqual([1497, 1494]);
});

it("an update that is sent twice is counted once, and a change moves a token from group to group", async () => {
  const entry = entryAt(firstRowAt(BEGIN), { role: "builder", first: true });
  const shard = await filled(2, [entry, entryAt(firstRowAt(BEGIN + 1))]);
  const groups = (kind: "end_hour" | "role") => shard.groups(kind, [TOKEN_MOUNT]);
  await shard.applyUpdates({ ...NO_UPDATES, changed: [entry] });
  expect(await shard.countMounts("tokens")).toEqual([{ key: TOKEN_MOUNT, count: 2 }]);
  expect(await shard.countMounts("trees")).toEqual([{ key: TOKEN_MOUNT, count: 1 }]);
  await shard.applyUpdates({ ...NO_UPDATES, changed: [{ ...entry, expiresAt: null, renewedAt: BEGIN }] });
  expect(await groups("end_hour")).toEqual([
    { key: "2026-07-12T16:00:00Z", count: 1 },
    { key: "never", count: 1 },
  ]);
  await shard.remove([entry.accessor]);
  await shard.remove([entry.accessor]);
  expect(await groups("role")).toEqual([]);
  expect(await shard.countMounts("tokens")).toEqual([{ key: TOKEN_MOUNT, count: 1 }]);
  // What is said about a token that is not listed any more comes too late.
  await shard.applyUpdates({ ...NO_UPDATES, changed: [entry] });
  expect(await shard.findListed([entry.accessor])).toEqual([]);
  expect(await rowsOf(shard, "inventory")).toHaveLength(1);
});

it("pages of several shards give what the filter means, each token once and in order", async () => {
  const facts = fc.record({
    row: fc.integer({ min: 0, max: 60 }),
    tree: fc.integer({ min: 0, max: 2 }),
    mount: fc.constantFrom(TOKEN_MOUNT, "a mount"),
    displayName: fc.constantFrom("token", "token-a", "Token-AB", '\u0130zm\u0130r 100%_"x"', "a\u0000bc"),
    path: fc.constantFrom("auth/token/create", "auth/jwt/login"),
    metadata: fc.constantFrom({}, { owner: "payments" }, { owner: "Payments", run: "Stra\u00dfe" }, { "a=b": "c" }),
    entityId: fc.constantFrom("", "entity_1", "entity_2"),
    role: fc.constantFrom("", "builder"),
    policies: fc.constantFrom(["default"], ["default", "web"], ["web", "db"]),
    expiresAt: fc.option(fc.integer({ min: -2, max: 6 }).map((n) => BEGIN + n * HOUR)),
    lastUsed: fc.option(fc.integer({ min: -2, max: 2 }).map((n) => BEGIN + n * HOUR)),
    shard: fc.integer({ min: 0, max: 2 }),
    goes: fc.boolean(),
  });
  const searches = fc.record({
    text: fc.constantFrom(
      "token",
      "KEN-A",
      "pay",
      "owner=P",
      "a=b=c",
      "stra",
      "100%_",
      '"x"',
      "\u0130ZM",
      "zzz",
      "abc",
      "login",
    ),
    entities: fc.subarray(["entity_1", "entity_2"]),
  });
  const filters = fc.record(
    {
      mount: fc.constantFrom(TOKEN_MOUNT, "a mount"),
      role: fc.constant("builder"),
      policy: fc.constantFrom("default", "web", "db"),
      displayName: fc.constantFrom("token", "token-a"),
      displayNamePrefix: fc.constantFrom("token", "token-a"),
      pathPrefix: fc.constantFrom("auth/j", "auth/token/create"),
      metadata: fc.constantFrom({ owner: "payments" }, { a: "b=c" }, { "a=b": "c" }),
      search: searches,
      tree: fc.constantFrom(...TREES),
      createdAfter: fc.integer({ min: -1, max: 3 }).map((n) => BEGIN + n),
      createdBefore: fc.integer({ min: -1, max: 3 }).map((n) => BEGIN + n),
      endsAfter: fc.integer({ min: -1, max: 5 }).map((n) => BEGIN + n * HOUR),
      endsBefore: fc.integer({ min: 0, max: 7 }).map((n) => BEGIN + n * HOUR),
      neverEnds: fc.boolean(),
      unusedSince: fc.constant(BEGIN + HOUR),
    },
    { requiredKeys: [] },
  );
  const orders = fc.record({ by: fc.constantFrom<Order["by"]>("created", "end"), descending: fc.boolean() });
  await runInDurableObject(accessorShard(bindings, 3), async (object, { storage: { sql } }) => {
    // The first write makes the tables.
    await object.allocateTrees(1);
    fc.assert(
      fc.property(
        fc.array(facts, { maxLength: 40 }),
        // Alone a search is answered from its own index.
        fc.oneof(filters, fc.record({ search: searches })),
        orders,
        fc.integer({ min: 1, max: 7 }),
        fc.integer({ min: 1, max: 30 }),
        (tokens, filter, order, limit, batch) => {
          // One database stands for all shards: each round it holds the entries of one of them.
          const entries = tokens.map(({ row, tree, shard, goes, ...rest }) => ({
            shard,
            goes,
            tree: TREES[tree] ?? "",
            entry: entryAt(firstRowAt(BEGIN) + row * 200, { tree, ...rest }),
          }));
          const inShard = <T>(shard: number, read: (store: InventoryStore) => T): T => {
            for (const table of ["inventory", "postings", "searched_terms", "counts", "pending"])
              sql.exec(`DELETE FROM ${table}`);
            const store = new InventoryStore(sql, batch);
            const inside = entries.filter((one) => one.shard === shard);
            // Some come, go and come back, so that changes wait and are written in every order.
            for (const { entry } of inside) store.put({ made: [entry] });
            store.remove(inside.map(({ entry }) => entry.accessor));
            store.put({ made: inside.map(({ entry }) => entry) });
            store.remove(inside.filter(({ goes }) => goes).map(({ entry }) => entry.accessor));
            // What waits is stored: another object goes on with it.
            return read(new InventoryStore(sql, batch));
          };
          const shards = [0, 1, 2];
          const all = shards.flatMap((shard) =>
            inShard(shard, (store) =>
              store.find(entries.map(({ entry }) => entry.accessor)).map((token) => ({ token, shard })),
            ),
          );
          const kinds = ["mount", "policy", "role", "end_hour", "name", "metadata.owner"] as const;
          const counters = kinds.flatMap((kind) => [TOKEN_MOUNT, "a mount"].map((mount) => ({ kind, mount })));
          const counted = shards.flatMap((shard) =>
            inShard(shard, ({ index }) =>
              counters.flatMap(({ kind, mount }) =>
                index.greatest(kind, mount).map(({ key, count }) => ({ kind, mount, key, count })),
              ),
            ),
          );
          const groups = all.flatMap(({ token }) => countsOf(token, createdAtOf(token)));
          for (const { kind, mount } of counters) {
            const isOf = (one: { readonly kind: string; readonly mount: string }) =>
              one.kind === kind && one.mount === mount;
            const repeated = counted.filter(isOf).flatMap(({ key, count }) => Array.from({ length: count }, () => key));
            expect(repeated.sort()).toEqual(
              groups
                .filter(isOf)
                .map(({ key }) => key)
                .sort(),
            );
          }
          const treeOf = new Map(entries.map(({ entry, tree }) => [entry.accessor, tree]));
          const expected = all.filter(({ token }) => matches(filter, token, treeOf.get(token.accessor) ?? "", BEGIN));
          const found: ListedToken[] = [];
          let after: OrderPosition | null = null;
          do {
            const pages = shards.map((shard) =>
              inShard(shard, (store) => store.pages.page({ filter, order, after, shard, limit, now: BEGIN })),
            );
            const page = mergePages(pages, order, limit, (token) => keyOf(token, order.by));
            found.push(...page.tokens);
            after = page.next;
          } while (after !== null);
          expect(found.map(({ accessor }) => accessor).sort()).toEqual(
            expected.map(({ token }) => token.accessor).sort(),
          );
          const keys = found.map((token) => keyOf(token, order.by));
          expect(keys).toEqual([...keys].sort((a, b) => (order.descending ? b - a : a - b)));
          expect(found.every((token) => createdAtOf(token) >= BEGIN)).toBe(true);
        },
      ),
      { numRuns: 80 },
    );
  });
});

describe("groups of trees", () => {
  const tree = (at: number, tree: number, size: number, facts: Facts = {}) => {
    const root = entryAt(firstRowAt(BEGIN) + at * 4096, { tree, first: true, expiresAt: null, ...facts });
    return { root, size: { root: root.accessor, count: size } };
  };
  const groupsOf = async (shard: DurableObjectStub<AccessorShard>, grouping: TreeGrouping, keys: string[] | null) =>
    ((await shard.treeGroups(grouping, [{ mount: TOKEN_MOUNT, keys }])) ?? []).map(({ mount: _, ...group }) => group);

  it("are counted with what is below their first tokens, as those change and go", async () => {
    const shard = accessorShard(bindings, 8);
    const metadata = { owner: "payments" };
    const trees = [
      tree(1, 0, 30, { displayName: "api", metadata }),
      tree(2, 1, 1, { displayName: "api", role: "web" }),
      tree(3, 2, 5, { displayName: "cron", role: "web" }),
    ];
    const child = entryAt(firstRowAt(BEGIN) + 9 * 4096, { displayName: "api", expiresAt: null });
    const made = [...trees.map(({ root }) => root), child];
    await shard.applyUpdates({ ...NO_UPDATES, made, sizes: trees.map(({ size }) => size) });
    const names = () => groupsOf(shard, "name", null);
    expect(await names()).toEqual(
      expect.arrayContaining([
        { key: "api", trees: 2, below: 29 },
        { key: "cron", trees: 1, below: 4 },
      ]),
    );
    expect(await groupsOf(shard, "role", ["web", "none"])).toEqual([
      { key: "web", trees: 2, below: 4 },
      { key: "none", trees: 0, below: 0 },
    ]);
    expect(await groupsOf(shard, "metadata.owner", null)).toEqual([{ key: "payments", trees: 1, below: 29 }]);
    expect(await groupsOf(shard, "mount", [TOKEN_MOUNT])).toEqual([{ key: TOKEN_MOUNT, trees: 3, below: 33 }]);
    // What a tree says again changes nothing.
    const [api, single, cron] = trees;
    await shard.applyUpdates({ ...NO_UPDATES, changed: made, sizes: trees.map(({ size }) => size) });
    expect(await groupsOf(shard, "mount", [TOKEN_MOUNT])).toEqual([{ key: TOKEN_MOUNT, trees: 3, below: 33 }]);
    await shard.applyUpdates({ ...NO_UPDATES, sizes: [{ root: api?.root.accessor ?? "", count: 3 }] });
    await shard.applyUpdates({ ...NO_UPDATES, sizes: [{ root: single?.root.accessor ?? "", count: 2 }] });
    expect(await groupsOf(shard, "name", ["api"])).toEqual([{ key: "api", trees: 2, below: 3 }]);
    await shard.remove([api?.root.accessor ?? "", cron?.root.accessor ?? ""]);
    expect(await names()).toEqual([{ key: "api", trees: 1, below: 1 }]);
    // Many at once go by another statement.
    await shard.remove([...made.map(({ accessor }) => accessor), ...Array.from({ length: 20 }, (_, at) => `x${at}`)]);
    expect(await names()).toEqual([]);
  });

  it("cost the same with four times as many tokens, and the ends of a time what ends in it", async () => {
    const facts = (i: number): Facts => ({
      displayName: `name-${i % 7}`,
      first: i % 2 === 0,
      expiresAt: LATER + i * 1000,
    });
    const entries = Array.from({ length: 7000 }, (_, i) => entryAt(firstRowAt(BEGIN) + i * 4096, facts(i)));
    const shards = [await filled(9, entries.slice(0, 1750)), await filled(10, entries)];
    const wanted = [{ mount: TOKEN_MOUNT, keys: null }];
    const read = (work: (shard: DurableObjectStub<AccessorShard>) => Promise<unknown>) =>
      Promise.all(shards.map(async (shard) => (await costOf(shard, () => work(shard))).rowsRead));
    const [few = 0, many = 0] = await read(async (shard) => shard.treeGroups("name", wanted));
    expect(many).toBe(few);
    expect(many).toBeLessThanOrEqual(60);
    // Each tree with several tokens is read in the index and in the table.
    const roots = entries.filter(({ first }) => first).slice(0, 10);
    const sizes = roots.map(({ accessor }) => ({ root: accessor, count: 7 }));
    await shards[1]?.applyUpdates({ ...NO_UPDATES, sizes });
    const [, grown = 0] = await read(async (shard) => shard.treeGroups("name", wanted));
    expect(grown - many).toBeGreaterThanOrEqual(10);
    expect(grown - many).toBeLessThanOrEqual(20);
    const query: EndsQuery = {
      ...{ kind: "name", mount: null, from: LATER, step: 60_000, parts: 10, now: BEGIN, keys: null },
    };
    // Each of the 600 tokens in the index and in the table, and the one after them.
    for (const rows of await read(async (shard) => shard.endsByGroup(query))) expect(rows).toBeLessThanOrEqual(1202);
    const ends = await shards[1]?.endsByGroup(query);
    expect(ends).toMatchObject({ all: Array.from({ length: 10 }, () => 60), isWhole: true });
    expect(ends?.groups.map(({ count }) => count).sort()).toEqual([85, 85, 86, 86, 86, 86, 86]);
    expect(ends?.groups.find(({ key }) => key === "name-3")?.parts).toHaveLength(10);
    // What has ended by now is not counted, and of keys that are asked for the others are counted apart.
    const asked = await shards[1]?.endsByGroup({ ...query, now: LATER + 299_999, keys: ["name-3", "none"] });
    expect(asked?.all).toEqual([0, 0, 0, 0, 0, 60, 60, 60, 60, 60]);
    const sum = (counts: readonly number[] = []) => counts.reduce((total, count) => total + count, 0);
    expect(sum(asked?.other) + sum(asked?.groups[0]?.parts)).toBe(300);
  });
});
