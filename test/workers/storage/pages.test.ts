import { runInDurableObject } from "cloudflare:test";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readPageOf } from "../../../src/storage/pages.ts";
import { bindings } from "../../support/service.ts";

const letters = fc.constantFrom("a", "b", "-", "1");
const aName = fc.string({ unit: letters, minLength: 1, maxLength: 6 });
const aPart = fc.string({ unit: fc.oneof(letters, fc.constantFrom("%", "_", "*", "'", " ")), maxLength: 4 });

describe("a page of a table", () => {
  it("has exactly the rows whose name holds the part, in either order, and their number", async () => {
    const stub = bindings.ORGANIZATION_DIRECTORY.getByName("pages");
    await runInDurableObject(stub, (_, { storage: { sql } }) => {
      sql.exec("CREATE TABLE names (row INTEGER PRIMARY KEY, name_key TEXT NOT NULL, age INTEGER NOT NULL)");
      fc.assert(
        fc.property(
          fc.array(fc.tuple(aName, fc.nat(3)), { maxLength: 20 }),
          aPart,
          fc.nat(10),
          fc.integer({ min: 1, max: 8 }),
          fc.boolean(),
          (names, part, offset, limit, reverse) => {
            sql.exec("DELETE FROM names");
            for (const [name, age] of names) sql.exec("INSERT INTO names (name_key, age) VALUES (?, ?)", name, age);
            const all = names.map(([name_key, age], i) => ({ row: i + 1, name_key, age }));
            const expected = all
              .filter(({ name_key }) => name_key.includes(part))
              .sort((a, b) => (a.age - b.age || a.row - b.row) * (reverse ? -1 : 1));
            const page = readPageOf(sql, { table: "names", order: "age", reverse, part, offset, limit });
            expect(page).toEqual({ rows: expected.slice(offset, offset + limit), total: expected.length });
          },
        ),
      );
    });
  });
});
