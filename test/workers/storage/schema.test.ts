import { runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { type Migration, Schema } from "../../../src/storage/schema.ts";
import { Tables } from "../../../src/storage/tables.ts";
import { bindings } from "../../support/service.ts";

const FIRST: Migration = { version: 1, description: "things", sql: "CREATE TABLE things (name TEXT NOT NULL)" };
const SECOND: Migration = {
  version: 2,
  description: "their size",
  sql: "ALTER TABLE things ADD COLUMN size INTEGER NOT NULL DEFAULT 7",
};

function inNewObject(test: (sql: SqlStorage) => void): Promise<void> {
  const stub = bindings.TOKEN_TREE.get(bindings.TOKEN_TREE.newUniqueId());
  return runInDurableObject(stub, (_, { storage: { sql } }) => test(sql));
}

const tables = (sql: SqlStorage) =>
  sql.exec("SELECT name FROM sqlite_master WHERE name NOT LIKE '\\_cf%' ESCAPE '\\'").toArray();

describe("the tables of an object", () => {
  it("are not made by asking", () =>
    inNewObject((sql) => {
      expect(new Schema(sql, [FIRST]).exists).toBe(false);
      expect(tables(sql)).toEqual([]);
    }));

  it("are made once, and known after a start", () =>
    inNewObject((sql) => {
      const schema = new Schema(sql, [FIRST]);
      schema.create();
      schema.create();
      sql.exec("INSERT INTO things (name) VALUES ('a')");
      expect(schema.exists).toBe(true);
      expect(new Schema(sql, [FIRST]).exists).toBe(true);
      expect(sql.exec("SELECT name FROM things").toArray()).toEqual([{ name: "a" }]);
      expect(tables(sql)).toEqual([{ name: "things" }]);
    }));

  it("of several schemas are known apart, those of an index alone too", () =>
    inNewObject((sql) => {
      const byName = { version: 1, description: "things by name", sql: "CREATE INDEX things_by_name ON things (name)" };
      new Schema(sql, [FIRST]).create();
      expect(new Schema(sql, [byName], "indexes").exists).toBe(false);
      new Schema(sql, [byName], "indexes").create();
      expect(new Schema(sql, [byName], "indexes").exists).toBe(true);
      const odd = { version: 1, description: "nothing", sql: "SELECT 1" };
      expect(() => new Schema(sql, [odd], "odd")).toThrow("begins with a table");
    }));

  it("of an earlier version are brought up to date before anything is read", () =>
    inNewObject((sql) => {
      new Schema(sql, [FIRST]).create();
      sql.exec("INSERT INTO things (name) VALUES ('a')");
      expect(new Schema(sql, [FIRST, SECOND]).exists).toBe(true);
      expect(sql.exec("SELECT * FROM things").toArray()).toEqual([{ name: "a", size: 7 }]);
      expect(sql.exec("SELECT version FROM schema_version").toArray()).toEqual([{ version: 2 }]);
      expect(new Schema(sql, [FIRST, SECOND]).exists).toBe(true);
    }));

  it("of a later version that only adds are worked with by the version that it names, and by no older one", () =>
    inNewObject((sql) => {
      const adding = { ...SECOND, readableFrom: 1 };
      const third: Migration = {
        version: 3,
        description: "their colour",
        sql: "ALTER TABLE things ADD COLUMN colour",
        readableFrom: 2,
      };
      new Schema(sql, [FIRST, adding]).create();
      const older = new Schema(sql, [FIRST]);
      older.create();
      sql.exec("INSERT INTO things (name) VALUES ('a')");
      expect(sql.exec("SELECT * FROM schema_version").toArray()).toEqual([{ version: 2, readable_from: 1 }]);
      expect(new Schema(sql, [FIRST, adding, third]).exists).toBe(true);
      expect(sql.exec("SELECT * FROM schema_version").toArray()).toEqual([{ version: 3, readable_from: 2 }]);
      expect(new Schema(sql, [FIRST, adding]).exists).toBe(true);
      expect(() => new Schema(sql, [FIRST])).toThrow("version 3");
      expect(sql.exec("SELECT name, size FROM things").toArray()).toEqual([{ name: "a", size: 7 }]);
    }));

  it("whose first version is in a view, as some were stored, are brought up to date alike", () =>
    inNewObject((sql) => {
      new Schema(sql, [FIRST]).create();
      sql.exec("CREATE VIEW schema_version AS SELECT 1 AS version");
      expect(new Schema(sql, [FIRST]).exists).toBe(true);
      expect(new Schema(sql, [FIRST, SECOND]).exists).toBe(true);
      expect(sql.exec("SELECT version FROM schema_version").toArray()).toEqual([{ version: 2 }]);
    }));

  it("of a version that is not known are refused, and stay as they are", () =>
    inNewObject((sql) => {
      new Schema(sql, [FIRST, SECOND]).create();
      expect(() => new Schema(sql, [FIRST])).toThrow('the storage has version 2 of "schema"');
      expect(new Schema(sql, [FIRST, SECOND]).exists).toBe(true);
    }));

  it("of a new object are all there at once", () =>
    inNewObject((sql) => {
      new Schema(sql, [FIRST, SECOND]).create();
      sql.exec("INSERT INTO things (name) VALUES ('a')");
      expect(sql.exec("SELECT * FROM things").toArray()).toEqual([{ name: "a", size: 7 }]);
      expect(sql.exec("SELECT version FROM schema_version").toArray()).toEqual([{ version: 2 }]);
    }));
});

describe("statements before the first write", () => {
  it("find nothing and change nothing, and an INSERT makes the tables", () =>
    inNewObject((sql) => {
      const things = new Tables(sql, [FIRST]);
      expect([...things.exec("SELECT name FROM things")]).toEqual([]);
      expect(things.exec("SELECT name FROM things").toArray()).toEqual([]);
      expect(things.exec("DELETE FROM things").rowsWritten).toBe(0);
      expect(things.exec("UPDATE things SET name = 'b'").rowsWritten).toBe(0);
      expect([things.exist, tables(sql)]).toEqual([false, []]);
      things.exec("INSERT INTO things (name) VALUES (?)", "a");
      expect(things.exist).toBe(true);
      expect(things.exec("SELECT name FROM things").one()).toEqual({ name: "a" });
      expect(things.exec("DELETE FROM things").rowsWritten).toBe(1);
      expect(new Tables(sql, [FIRST]).exist).toBe(true);
    }));
});
