import { runInDurableObject } from "cloudflare:test";
import fc from "fast-check";
import { expect, it } from "vitest";
import { RowKeys } from "../../../src/crypto/row-keys.ts";
import { dropTables } from "../../../src/storage/object-pages.ts";
import { RowSeals } from "../../../src/storage/row-seals.ts";
import { type CustomIdList, MAX_LISTED_IDS, mayContain } from "../../../src/system/custom-id-list.ts";
import { SYSTEM_MIGRATIONS, systemStores } from "../../../src/system/system-stores.ts";
import { bindings } from "../../support/service.ts";

const KEYS = new RowKeys([{ version: 1, root: new Uint8Array(32), usedFrom: 0 }]);
const storesOf = (sql: SqlStorage) => systemStores(sql, new RowSeals("an object", () => KEYS), bindings);

/** Something like the keyed hash of a custom id. */
function hashOf(id: number): Uint8Array {
  const hash = new Uint8Array(32);
  new DataView(hash.buffer).setUint32(0, Math.imul(id + 1, 0x9e3779b1));
  return hash;
}

function inEmptyObject(test: (storage: DurableObjectStorage) => void): Promise<void> {
  return runInDurableObject(bindings.CLOUD_AUTH.getByName("the list of custom ids"), (_, { storage }) => {
    dropTables(storage.sql);
    test(storage);
  });
}

/** Fills the list up to this number of ids, which no test adds. */
function fill(sql: SqlStorage, count: number): void {
  storesOf(sql).schema.create();
  sql.exec(
    `WITH RECURSIVE ids (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM ids WHERE id < ${count})
     INSERT INTO custom_id_hashes (hash) SELECT id FROM ids`,
  );
}

it("adds an id once, and is full at its maximum: then every id is looked up", () =>
  inEmptyObject(({ sql }) => {
    const { customIds, versions } = storesOf(sql);
    const isChanged = (id: number) => {
      const before = versions.now.customIds;
      customIds.add(hashOf(id));
      return versions.now.customIds !== before;
    };
    const list = () => customIds.part().list ?? null;
    expect([isChanged(1), isChanged(1)]).toEqual([true, false]);
    expect([mayContain(list(), hashOf(1)), mayContain(list(), hashOf(2))]).toEqual([true, false]);
    fill(sql, MAX_LISTED_IDS - 1);
    expect(list()).toHaveLength(MAX_LISTED_IDS);
    expect([isChanged(2), isChanged(3)]).toEqual([true, false]);
    expect(list()).toBeNull();
    expect(mayContain(list(), hashOf(4))).toBe(true);
  }));

/** What release 1.0.0-rc.1 does when it adds an id, where its filter matches every id. */
function addAsBefore(sql: SqlStorage): void {
  if (sql.exec("SELECT 1 FROM custom_id_layers").toArray().length > 0) return;
  sql.exec("INSERT INTO custom_id_layers (layer, ids) VALUES (0, 1)");
  sql.exec("INSERT OR REPLACE INTO part_versions (part, version) VALUES ('customIds', random() & 4503599627370495)");
}

const step = fc.record({
  id: fc.integer({ min: 0, max: 9 }),
  /** The release that the object runs. */
  release: fc.constantFrom("this", "this", "the one before"),
  /** The object ends after the id is stored, or before. */
  ends: fc.constantFrom("no", "no", "after", "before"),
  /** Which of three isolates asks afterwards. 3: none. */
  reader: fc.integer({ min: 0, max: 3 }),
});
const start = fc.constantFrom("a filter", "nothing", "nothing", "nearly full");

it("contains every id that was answered, whatever crashed in between and whichever release ran", () =>
  inEmptyObject((storage) => {
    const { sql } = storage;
    fc.assert(
      fc.property(start, fc.array(step, { maxLength: 25 }), (begin, steps) => {
        dropTables(sql);
        const answered = new Set<number>();
        if (begin === "nearly full") fill(sql, MAX_LISTED_IDS - 2);
        if (begin === "a filter") {
          sql.exec(SYSTEM_MIGRATIONS[0]?.sql ?? "");
          addAsBefore(sql);
          answered.add(9);
        }
        let stores = storesOf(sql);
        stores.schema.create();
        let isFull = begin === "a filter";
        let listed = begin === "nearly full" ? MAX_LISTED_IDS - 2 : 0;
        const readers = [0, 1, 2].map((): { version: number; list: CustomIdList } => ({ version: -1, list: null }));
        for (const { id, release, ends, reader } of steps) {
          const isOlder = release === "the one before";
          const add = () => (isOlder ? addAsBefore(sql) : stores.customIds.add(hashOf(id)));
          if (ends === "before") {
            const crash = () =>
              storage.transactionSync(() => {
                add();
                throw new Error("ends");
              });
            expect(crash).toThrow("ends");
          } else {
            add();
            isFull ||= isOlder;
            if (!isFull && !answered.has(id)) listed++;
            answered.add(id);
          }
          // The other release starts anew, too.
          if (ends !== "no" || isOlder) stores = storesOf(sql);
          const copy = readers[reader];
          if (!copy) continue;
          const version = stores.versions.now.customIds;
          const { list = null } = isOlder ? {} : stores.customIds.part();
          if (copy.version !== version) Object.assign(copy, { version, list });
          for (const one of answered) expect([one, mayContain(copy.list, hashOf(one))]).toEqual([one, true]);
          if (!isOlder) expect(list === null).toBe(isFull || listed > MAX_LISTED_IDS);
          if (copy.list) for (const never of [10, 11]) expect(mayContain(copy.list, hashOf(never))).toBe(false);
        }
      }),
      { numRuns: 150 },
    );
  }));

it("is a filter that matches every id for an isolate of the release before, and in the storage", () =>
  inEmptyObject(({ sql }) => {
    sql.exec(SYSTEM_MIGRATIONS[0]?.sql ?? "");
    sql.exec("INSERT INTO part_versions (part, version) VALUES ('customIds', 7)");
    const { customIds, versions } = storesOf(sql);
    expect(versions.now.customIds).not.toBe(7);
    const all = [{ layer: 0, block: 0, bits: new Uint8Array(16_384).fill(255) }];
    expect(customIds.part()).toMatchObject({ isWhole: true, blocks: all });
    const stored = sql.exec("SELECT * FROM custom_id_blocks").toArray();
    expect(stored.map((row) => ({ ...row, bits: new Uint8Array(row.bits as ArrayBuffer) }))).toEqual(all);
  }));
