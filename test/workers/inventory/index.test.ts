import { runInDurableObject } from "cloudflare:test";
import fc from "fast-check";
import { expect, it } from "vitest";
import { randomBytes, toHex } from "../../../src/crypto/bytes.ts";
import { firstRowAt, routedIdText } from "../../../src/token/ids.ts";
import { type AccessorShard, accessorShard } from "../../../src/tree/index/accessor-shard.ts";
import type { ShardNews } from "../../../src/tree/index/news.ts";
import { createdAtOf, type InventoryEntry, type ListedToken, TOKEN_MOUNT } from "../../../src/tree/inventory/entry.ts";
import { matches, type TokenFilter } from "../../../src/tree/inventory/filter.ts";
import { InventoryStore } from "../../../src/tree/inventory/inventory-store.ts";
import { keyOf, type Order, type Position } from "../../../src/tree/inventory/order.ts";
import { mergePages } from "../../../src/tree/inventory/queries.ts";
import { costOf } from "../../support/costs.ts";
import { bindings } from "../../support/service.ts";

const BEGIN = Date.UTC(2026, 5, 1);
const HOUR = 3_600_000;
const TREES = [1, 2, 3].map(() => toHex(randomBytes(32)));

const NO_NEWS: ShardNews = { made: [], changed: [], sizes: [], started: [] };

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
      object.tell({ ...NO_NEWS, made: entries.slice(at, at + 500) });
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
  expect(await costs({ role: "builder" }, "created")).toEqual([345, 345]);
  expect(await costs({ policy: "rare" }, "end")).toEqual([11, 38]);
  expect(await costs({ mount: TOKEN_MOUNT }, "end")).toEqual([323, 323]);
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
  await shard.tell({ ...NO_NEWS, changed: [entry] });
  expect(await shard.countMounts("tokens")).toEqual([{ key: TOKEN_MOUNT, count: 2 }]);
  expect(await shard.countMounts("trees")).toEqual([{ key: TOKEN_MOUNT, count: 1 }]);
  await shard.tell({ ...NO_NEWS, changed: [{ ...entry, expiresAt: null, renewedAt: BEGIN }] });
  expect(await groups("end_hour")).toEqual([
    { key: "2026-07-12T16:00:00Z", count: 1 },
    { key: "never", count: 1 },
  ]);
  await shard.remove([entry.accessor]);
  await shard.remove([entry.accessor]);
  expect(await groups("role")).toEqual([]);
  expect(await shard.countMounts("tokens")).toEqual([{ key: TOKEN_MOUNT, count: 1 }]);
  // What is said about a token that is not listed any more comes too late.
  await shard.tell({ ...NO_NEWS, changed: [entry] });
  expect(await shard.findListed([entry.accessor])).toEqual([]);
  const left = await runInDurableObject(shard, (_, { storage: { sql } }) =>
    sql.exec("SELECT (SELECT COUNT(*) FROM inventory) AS rows, COUNT(DISTINCT id) AS ids FROM terms").one(),
  );
  expect(left).toEqual({ rows: 1, ids: 1 });
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
  await runInDurableObject(accessorShard(bindings, 3), (object, { storage: { sql } }) => {
    object.tell(NO_NEWS);
    const store = new InventoryStore(sql);
    fc.assert(
      fc.property(
        fc.array(facts, { maxLength: 40 }),
        filters,
        orders,
        fc.integer({ min: 1, max: 7 }),
        (tokens, filter, order, limit) => {
          // One database stands for all shards: each round it holds the entries of one of them.
          const entries = tokens.map(({ row, tree, shard, ...rest }) => ({
            shard,
            tree: TREES[tree] ?? "",
            entry: entryAt(firstRowAt(BEGIN) + row * 200, { tree, ...rest }),
          }));
          const inShard = <T>(shard: number, read: () => T): T => {
            for (const table of ["inventory", "terms", "counts"]) sql.exec(`DELETE FROM ${table}`);
            store.put(entries.filter((one) => one.shard === shard).map(({ entry }) => entry));
            return read();
          };
          const shards = [0, 1, 2];
          const all = shards.flatMap((shard) =>
            inShard(shard, () =>
              store.find(entries.map(({ entry }) => entry.accessor)).map((token) => ({ token, shard })),
            ),
          );
          const treeOf = new Map(entries.map(({ entry, tree }) => [entry.accessor, tree]));
          const expected = all.filter(({ token }) => matches(filter, token, treeOf.get(token.accessor) ?? "", BEGIN));
          const found: ListedToken[] = [];
          let after: Position | null = null;
          do {
            const pages = shards.map((shard) =>
              inShard(shard, () => store.page({ filter, order, after, shard, limit, now: BEGIN })),
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
      { numRuns: 150 },
    );
  });
});
