import { runInDurableObject } from "cloudflare:test";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RANKED_INDEX_TABLES, RankedIndex, type RankKey } from "../../../src/storage/ranked-index.ts";
import { bindings } from "../../support/service.ts";

let objects = 0;

/** Runs `work` on the database of an object of its own. */
function inDatabase<T>(work: (sql: SqlStorage) => T): Promise<T> {
  const stub = bindings.ORGANIZATION_DIRECTORY.getByName(`ranked-index-${objects++}`);
  return runInDurableObject(stub, (_, state) => {
    state.storage.sql.exec(RANKED_INDEX_TABLES);
    return work(state.storage.sql);
  });
}

const byKeyAndRow = (a: readonly [RankKey, number], b: readonly [RankKey, number]) =>
  a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : a[1] - b[1];

describe("pages of a ranked index", () => {
  it.each([
    ["texts", fc.string({ maxLength: 3 })],
    ["numbers", fc.oneof(fc.integer({ min: 0, max: 20 }), fc.constant(Number.MAX_SAFE_INTEGER))],
  ])("are those of a sorted list, whatever was added and removed before: %s", async (_, keys) => {
    await inDatabase((sql) => {
      let sort = 0;
      fc.assert(
        fc.property(
          fc.array(fc.tuple(keys as fc.Arbitrary<RankKey>, fc.integer({ min: 1, max: 60 })), { maxLength: 120 }),
          fc.nat(70),
          fc.nat(30),
          fc.boolean(),
          (changes, offset, limit, reverse) => {
            const index = new RankedIndex(sql);
            const name = `sort ${sort++}`;
            const model = new Map<number, RankKey>();
            // The second mention of a row takes it out: half of the changes are removals in any order.
            for (const [key, row] of changes) {
              const there = model.get(row);
              if (there === undefined) index.add(name, key, row);
              else index.remove(name, there, row);
              if (there === undefined) model.set(row, key);
              else model.delete(row);
            }
            const sorted = [...model].map(([row, key]) => [key, row] as const).sort(byKeyAndRow);
            if (reverse) sorted.reverse();
            expect(index.count(name)).toBe(model.size);
            expect(index.page(name, offset, limit, reverse)).toEqual(
              sorted.slice(offset, offset + limit).map(([, row]) => row),
            );
          },
        ),
        { numRuns: 150 },
      );
    });
  });

  it("are right across many blocks, also after most entries are gone", async () => {
    await inDatabase((sql) => {
      const index = new RankedIndex(sql);
      const all = Array.from({ length: 5000 }, (_, i) => [(i * 7919) % 1000, i + 1] as const);
      for (const [key, row] of all) index.add("s", key, row);
      const blocks = () => sql.exec<{ n: number }>("SELECT COUNT(*) AS n FROM rank_blocks").one().n;
      expect(blocks()).toBeGreaterThan(9);
      const check = (entries: (typeof all)[number][]) => {
        const rows = entries.sort(byKeyAndRow).map(([, row]) => row);
        for (const offset of [0, 1, 511, 512, 2499, 2500, 4980, 4999]) {
          expect(index.page("s", offset, 20, false)).toEqual(rows.slice(offset, offset + 20));
          expect(index.page("s", offset, 20, true)).toEqual([...rows].reverse().slice(offset, offset + 20));
        }
      };
      check([...all]);
      const kept = all.filter(([, row]) => row % 10 === 0);
      for (const [key, row] of all) if (row % 10 !== 0) index.remove("s", key, row);
      check(kept);
      // 500 entries need two blocks; more would make the way to a page longer than it has to be.
      expect(blocks()).toBeLessThanOrEqual(2 * Math.ceil(500 / 256) + 1);
    });
  });

  it("refuse to lose count: an entry that is not there can't be removed", async () => {
    await inDatabase((sql) => {
      const index = new RankedIndex(sql);
      index.add("s", "a", 1);
      expect(() => index.remove("s", "a", 2)).toThrow();
      expect(index.count("s")).toBe(1);
    });
  });
});
