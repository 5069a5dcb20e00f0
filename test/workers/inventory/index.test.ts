import { runInDurableObject } from "cloudflare:test";
import fc from "fast-check";
import { expect, it } from "vitest";
import { randomBytes, toHex } from "../../../src/crypto/bytes.ts";
import { type AccessorShard, accessorShard } from "../../../src/listing/accessor-shard.ts";
import {
  createdAtOf,
  type InventoryEntry,
  type ListedToken,
  TOKEN_MOUNT,
} from "../../../src/listing/inventory/entry.ts";
import { matches, type TokenFilter } from "../../../src/listing/inventory/filter.ts";
import { keyOf, type Order, type Position } from "../../../src/listing/inventory/order.ts";
import { mergePages } from "../../../src/listing/inventory/queries.ts";
import { InventoryStore } from "../../../src/listing/inventory/shard/inventory-store.ts";
import { countsOf } from "../../../src/listing/inventory/terms.ts";
import type { ShardUpdates } from "../../../src/listing/updates/shard-updates.ts";
import { firstRowAt, routedIdText } from "../../../src/token/ids.ts";
import { costOf } from "../../support/costs.ts";
import { bindings } from "../../support/service.ts";

const BEGIN = Date.UTC(2026, 5, 1);
const HOUR = 3_600_000;
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

it("a page costs the same however many tokens there are, in every order and with every kind of filter", async () => {
  const facts = (i: number): Facts => ({
    tree: i % 3,
    displayName: `node-${i}`,
    policies: ["default", i % 1000 === 7 ? "rare" : "common"],
    role: i % 2 ? "builder" : "",
    expiresAt: i % 5 ? BEGIN + HOUR + i * 60_000 : null,
  });
  const entries = Array.from({ length: 12_000 }, (_, i) => entryAt(firstRowAt(BEGIN) + i * 4096, facts(i)));
  const small = await filled(0, entries.slice(0, 3000));
  const large = await filled(1, entries);
  const costs = async (filter: TokenFilter, by: Order["by"]) => {
    const query = { filter, order: { by, descending: false }, after: null, shard: 0, limit: 20, now: BEGIN };
    const read = async (shard: DurableObjectStub<AccessorShard>) =>
      (await costOf(shard, async () => shard.inventoryPage(query))).rowsRead;
    return [await read(small), await read(large)];
  };
  expect(await costs({}, "created")).toEqual([22, 22]);
  expect(await costs({}, "end")).toEqual([22, 22]);
  // The index of the term is counted up to a bound first: whether it is worth reading as a whole.
  expect(await costs({ role: "builder" }, "created")).toEqual([101, 101]);
  expect(await costs({ policy: "rare" }, "end")).toEqual([13, 40]);
  expect(await costs({ mount: TOKEN_MOUNT }, "end")).toEqual([25, 25]);
  // What no index has is looked for in a bounded number of tokens.
  expect(await costs({ pathPrefix: "auth/aws/" }, "created")).toEqual([1002, 1002]);
  expect(await costs({ neverEnds: true }, "created")).toEqual([323, 323]);
  expect(await costs({ endsBefore: BEGIN + 2 * HOUR }, "created")).toEqual([98, 98]);
  const never = { filter: { neverEnds: true }, order: { by: "created", descending: true }, shard: 1 } as const;
  const newest = await large.inventoryPage({ ...never, after: null, limit: 3, now: BEGIN });
  const next = await large.inventoryPage({ ...never, after: newest.upTo, limit: 2, now: BEGIN });
  expect([...newest.tokens, ...next.tokens].map(({ displayName }) => displayName)).toEqual(
    [11_995, 11_990, 11_985, 11_980, 11_975].map((i) => `node-${i}`),
  );
  const counters = async (shard: DurableObjectStub<AccessorShard>) =>
    (await costOf(shard, async () => shard.groups("policy", [TOKEN_MOUNT]))).rowsRead;
  expect([await counters(small), await counters(large)]).toEqual([8, 8]);
});

it("a token costs a shard five rows when it is made alone and two when it goes, and many at once four each", async () => {
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
  expect(await written(async () => shard.remove([alone.accessor]))).toBe(2);
  // Tokens of one kind share the rows of lists and counters: 18 of them for all that changed so far.
  const many = Array.from({ length: 200 }, () => entry());
  const cost = await written(() => hear({ made: many }));
  expect(cost).toBe(4 * many.length + 18);
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
  const page = async (tree: number, after: Position | null, descending = false) =>
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

it("tokens are counted a bounded number at a time, each once", async () => {
  const entries = Array.from({ length: 25 }, (_, i) =>
    entryAt(firstRowAt(BEGIN) + i * 4096, { policies: i % 5 ? ["web"] : ["root", "web"] }),
  );
  const shard = await filled(4, entries);
  const counts = [];
  let last: number | null = null;
  do {
    const step = await shard.countInventory({ policy: "web" }, BEGIN, last, 10);
    counts.push([step.count, step.roots]);
    last = step.last;
  } while (last !== null);
  expect(counts).toEqual([
    [10, 2],
    [10, 2],
    [5, 1],
  ]);
});

it("what is told about a token twice is counted once, and what changes moves from group to group", async () => {
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
  const left = await runInDurableObject(shard, (_, { storage: { sql } }) =>
    sql.exec("SELECT COUNT(*) AS rows FROM inventory").one(),
  );
  expect(left).toEqual({ rows: 1 });
});

it("pages of several shards give what the filter means, each token once and in order", async () => {
  const facts = fc.record({
    row: fc.integer({ min: 0, max: 60 }),
    tree: fc.integer({ min: 0, max: 2 }),
    mount: fc.constantFrom(TOKEN_MOUNT, "a mount"),
    displayName: fc.constantFrom("token", "token-a", "token-ab"),
    role: fc.constantFrom("", "builder"),
    policies: fc.constantFrom(["default"], ["default", "web"], ["web", "db"]),
    expiresAt: fc.option(fc.integer({ min: -2, max: 6 }).map((n) => BEGIN + n * HOUR)),
    lastUsed: fc.option(fc.integer({ min: -2, max: 2 }).map((n) => BEGIN + n * HOUR)),
    shard: fc.integer({ min: 0, max: 2 }),
    goes: fc.boolean(),
  });
  const filters = fc.record(
    {
      mount: fc.constantFrom(TOKEN_MOUNT, "a mount"),
      role: fc.constant("builder"),
      policy: fc.constantFrom("default", "web", "db"),
      displayName: fc.constantFrom("token", "token-a"),
      displayNamePrefix: fc.constantFrom("token", "token-a"),
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
        filters,
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
            for (const table of ["inventory", "postings", "counts", "pending"]) sql.exec(`DELETE FROM ${table}`);
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
          for (const kind of ["mount", "policy", "role", "end_hour"] as const) {
            for (const mount of [TOKEN_MOUNT, "a mount"]) {
              const counted = shards.flatMap((shard) => inShard(shard, ({ counts }) => counts.greatest(kind, mount)));
              const groups = all.flatMap(({ token }) => countsOf(token, createdAtOf(token)));
              const keys = groups.filter((group) => group.kind === kind && group.mount === mount).map(({ key }) => key);
              expect(counted.flatMap(({ key, count }) => Array.from({ length: count }, () => key)).sort()).toEqual(
                keys.sort(),
              );
            }
          }
          const treeOf = new Map(entries.map(({ entry, tree }) => [entry.accessor, tree]));
          const expected = all.filter(({ token }) => matches(filter, token, treeOf.get(token.accessor) ?? "", BEGIN));
          const found: ListedToken[] = [];
          let after: Position | null = null;
          do {
            const pages = shards.map((shard) =>
              inShard(shard, (store) => store.page({ filter, order, after, shard, limit, now: BEGIN })),
            );
            const page = mergePages(pages, order, limit);
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
