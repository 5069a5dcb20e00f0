import { runInDurableObject } from "cloudflare:test";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MAX_CANDIDATES, NAME_SEARCH_TABLES, NameSearch } from "../../../src/storage/name-search.ts";
import { bindings } from "../../support/service.ts";

let objects = 0;

/** Runs `work` on the database of an object of its own, with a table of names to search. */
function inDatabase<T>(work: (sql: SqlStorage) => T): Promise<T> {
  const stub = bindings.ORGANIZATION_DIRECTORY.getByName(`name-search-${objects++}`);
  return runInDurableObject(stub, (_, state) => {
    state.storage.sql.exec(NAME_SEARCH_TABLES);
    state.storage.sql.exec("CREATE TABLE names (row INTEGER PRIMARY KEY, name_key TEXT NOT NULL)");
    return work(state.storage.sql);
  });
}

const letters = fc.constantFrom("a", "b", "-", "1");
const aName = fc.string({ unit: letters, minLength: 1, maxLength: 8 });

describe("a search for a part of a name", () => {
  it("finds exactly the names that hold it, in order, after any additions and removals", async () => {
    await inDatabase((sql) => {
      const search = new NameSearch(sql, "names");
      fc.assert(
        fc.property(
          fc.array(aName, { maxLength: 12 }),
          fc.array(aName, { maxLength: 6 }),
          fc.string({ unit: fc.oneof(letters, fc.constantFrom("%", "_", "*", "'", " ")), minLength: 1, maxLength: 5 }),
          (kept, dropped, part) => {
            sql.exec("DELETE FROM names; DELETE FROM grams; DELETE FROM gram_counts;");
            const names = [...dropped, ...kept].map((name, i) => ({ name, row: i + 1 }));
            for (const { name, row } of names) {
              sql.exec("INSERT INTO names (row, name_key) VALUES (?, ?)", row, name);
              search.add(name, row);
            }
            for (const { name, row } of names.slice(0, dropped.length)) {
              sql.exec("DELETE FROM names WHERE row = ?", row);
              search.remove(name, row);
            }
            const expected = names
              .slice(dropped.length)
              .filter(({ name }) => name.includes(part))
              .sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : a.row - b.row));
            expect(search.find(part)).toEqual(expected.map(({ row }) => row));
          },
        ),
        { numRuns: 200 },
      );
      expect(sql.exec("SELECT 1 FROM gram_counts WHERE count < 1").toArray()).toEqual([]);
    });
  });

  it("looks at no more than 5,000 names and refuses before it begins", async () => {
    await inDatabase((sql) => {
      const search = new NameSearch(sql, "names");
      for (let row = 1; row <= MAX_CANDIDATES; row++) {
        sql.exec("INSERT INTO names (row, name_key) VALUES (?, ?)", row, `t${row}`);
      }
      sql.exec("INSERT INTO grams (gram, row) SELECT 'abc', row FROM names");
      sql.exec("INSERT INTO gram_counts (gram, count) VALUES ('abc', ?)", MAX_CANDIDATES);
      expect(search.find("abc")).toEqual([]);
      expect(search.find("a")).toEqual([]);
      sql.exec("UPDATE gram_counts SET count = count + 1");
      expect(search.find("abc")).toBe("too_many");
      expect(search.find("a")).toBe("too_many");
      // A second, rarer part makes the same search cheap again.
      sql.exec("INSERT INTO gram_counts (gram, count) VALUES ('bcd', 1)");
      expect(search.find("abcd")).toEqual([]);
    });
  });
});
