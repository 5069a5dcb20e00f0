import { runInDurableObject } from "cloudflare:test";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readPage } from "../../../src/storage/pages.ts";
import { type Migration, Tables } from "../../../src/storage/tables.ts";
import { allSources } from "../../support/all-sources.ts";
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
      expect(new Tables(sql, [FIRST]).exist).toBe(false);
      expect(tables(sql)).toEqual([]);
    }));

  it("are made once, and known after a start", () =>
    inNewObject((sql) => {
      const schema = new Tables(sql, [FIRST]);
      schema.create();
      schema.create();
      sql.exec("INSERT INTO things (name) VALUES ('a')");
      expect(schema.exist).toBe(true);
      expect(new Tables(sql, [FIRST]).exist).toBe(true);
      expect(sql.exec("SELECT name FROM things").toArray()).toEqual([{ name: "a" }]);
      expect(tables(sql)).toEqual([{ name: "things" }]);
    }));

  it("of several schemas are known apart, those of an index alone too", () =>
    inNewObject((sql) => {
      const byName = { version: 1, description: "things by name", sql: "CREATE INDEX things_by_name ON things (name)" };
      new Tables(sql, [FIRST]).create();
      expect(new Tables(sql, [byName], "indexes").exist).toBe(false);
      new Tables(sql, [byName], "indexes").create();
      expect(new Tables(sql, [byName], "indexes").exist).toBe(true);
      const odd = { version: 1, description: "nothing", sql: "SELECT 1" };
      expect(() => new Tables(sql, [odd], "odd")).toThrow("begins with a table");
    }));

  it("of an earlier version are brought up to date before anything is read", () =>
    inNewObject((sql) => {
      new Tables(sql, [FIRST]).create();
      sql.exec("INSERT INTO things (name) VALUES ('a')");
      expect(new Tables(sql, [FIRST, SECOND]).exist).toBe(true);
      expect(sql.exec("SELECT * FROM things").toArray()).toEqual([{ name: "a", size: 7 }]);
      expect(sql.exec("SELECT version FROM schema_version").toArray()).toEqual([{ version: 2 }]);
      expect(new Tables(sql, [FIRST, SECOND]).exist).toBe(true);
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
      new Tables(sql, [FIRST, adding]).create();
      const older = new Tables(sql, [FIRST]);
      older.create();
      sql.exec("INSERT INTO things (name) VALUES ('a')");
      expect(sql.exec("SELECT * FROM schema_version").toArray()).toEqual([{ version: 2, readable_from: 1 }]);
      expect(new Tables(sql, [FIRST, adding, third]).exist).toBe(true);
      expect(sql.exec("SELECT * FROM schema_version").toArray()).toEqual([{ version: 3, readable_from: 2 }]);
      expect(new Tables(sql, [FIRST, adding]).exist).toBe(true);
      expect(() => new Tables(sql, [FIRST])).toThrow("version 3");
      expect(sql.exec("SELECT name, size FROM things").toArray()).toEqual([{ name: "a", size: 7 }]);
    }));

  it("whose first version is in a view, as some were stored, are brought up to date alike", () =>
    inNewObject((sql) => {
      new Tables(sql, [FIRST]).create();
      sql.exec("CREATE VIEW schema_version AS SELECT 1 AS version");
      expect(new Tables(sql, [FIRST]).exist).toBe(true);
      expect(new Tables(sql, [FIRST, SECOND]).exist).toBe(true);
      expect(sql.exec("SELECT version FROM schema_version").toArray()).toEqual([{ version: 2 }]);
    }));

  it("of a version that is not known are refused, and stay as they are", () =>
    inNewObject((sql) => {
      new Tables(sql, [FIRST, SECOND]).create();
      expect(() => new Tables(sql, [FIRST])).toThrow('the storage has version 2 of "schema"');
      expect(new Tables(sql, [FIRST, SECOND]).exist).toBe(true);
    }));

  it("of a new object are all there at once", () =>
    inNewObject((sql) => {
      new Tables(sql, [FIRST, SECOND]).create();
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
          fc.integer({ min: 1, max: 5 }),
          fc.integer({ min: 1, max: 8 }),
          fc.boolean(),
          (names, part, number, size, reverse) => {
            sql.exec("DELETE FROM names");
            for (const [name, age] of names) sql.exec("INSERT INTO names (name_key, age) VALUES (?, ?)", name, age);
            const all = names.map(([name_key, age], i) => ({ row: i + 1, name_key, age }));
            const expected = all
              .filter(({ name_key }) => name_key.includes(part))
              .sort((a, b) => (a.age - b.age || a.row - b.row) * (reverse ? -1 : 1));
            const rows = { table: "names", order: "age", reverse, part };
            const page = readPage(sql, rows, { number, size }, (row) => row);
            const items = expected.slice((number - 1) * size, number * size);
            expect(page).toEqual({ items, total: expected.length });
          },
        ),
      );
    });
  });
});

/**
 * A hash of the SQL of every migration, from 1.0.0-rc.1 on. Installations of a release have run its migrations: a change of
 * their SQL would reach new installations only. So a hash never changes after a release: a change of a schema is a new
 * migration with a new line here. A migration that no release has may be edited; the diff of this test then shows its new
 * hash. `node test/e2e/support/store-installation.ts VERSION` stores an installation of a release.
 */
const RELEASED: Readonly<Record<string, string>> = {
  "ACCESSOR_SHARD_MIGRATIONS 1": "9add88185fd83d005a1ff5fdaeef9e94",
  "ACCESSOR_SHARD_MIGRATIONS 2": "3cff3bc1343db429cae1175c3615a503",
  "ACCESSOR_SHARD_MIGRATIONS 3": "366560b95a973fcc162f22c72b3c64de",
  "APP_ROLE_AUTH_MIGRATIONS 1": "9018444024ecbe620f465fc34068ea8a",
  "APP_ROLE_SECRET_ID_MIGRATIONS 1": "8c5ed59786d31455732a99dc5c249269",
  "APP_ROLE_SECRET_ID_MIGRATIONS 2": "5b7f9b760b21c9c3ae4880c72f89e713",
  "AUDIT_BACKLOG_MIGRATIONS 1": "7f66b6e9f1f9fe63356cace9fdfe57b0",
  "AUDIT_DIRECTORY_MIGRATIONS 1": "fcda66c8770d621ccf54ebbea7d0944a",
  "AUDIT_NUMBER_MIGRATIONS 1": "8dda65da46e946da7a043b694a187c5b",
  "AUDIT_SHARD_MIGRATIONS 1": "16da063ef69d4d06b6ee2abdb46899bf",
  "AUDIT_SHARD_MIGRATIONS 2": "31ccb5cb0b0fde9d0e1941b91bd7b19f",
  "BACKUP_RUN_MIGRATIONS 1": "64d0352cfbebc346359f59a479f6ad33",
  "BACKUP_RUN_MIGRATIONS 2": "91d2932f74bebd152f2cf3fb71d47494",
  "CARRIED_OUT_CALL_MIGRATIONS 1": "d256c046f780a783320fdae8ac600c96",
  "CARRIED_OUT_CALL_MIGRATIONS 2": "7cdad45e2d374db9dd2480dcf7de867f",
  "CLOUD_ACCESS_LIST_MIGRATIONS 1": "622f2ccd2aad981e5c9b7e55bfaaa54b",
  "CLOUD_AUTH_MIGRATIONS 1": "37604140c6520e68e42d523907621394",
  "CUBBYHOLE_MIGRATIONS 1": "7d1a78cb24c1ef90c693bb8275f9ba48",
  "CUSTOM_ID_MIGRATIONS 1": "ab6fe5295212d6f32f64d2c65479a272",
  "CUSTOM_ID_MIGRATIONS 2": "7dd7eb4d537c2f0cd691017064a6e0df",
  "DIRECTORY_VERSION_MIGRATIONS 1": "a3b97c0fb1ab5a68d49a00339de29154",
  "ENTITY_SHARD_MIGRATIONS 1": "5605baf955c0c005f11b67eda106b691",
  "FREE_TREES_MIGRATIONS 1": "2f699520d70bc89286b0d75b60fb08ae",
  "HISTORY_MIGRATIONS 1": "241ac450d0a4f3e1c825937f89f64140",
  "IDENTITY_MIGRATIONS 1": "5d4d8d91c255f9eea055aafad7c5dd84",
  "ISSUER_MIGRATIONS 1": "a24443d7e84a60c8c47c8601bc0838aa",
  "JWT_AUTH_MIGRATIONS 1": "ff6d9a2bd299fbf415b424a3f1781bba",
  "JWT_AUTH_MIGRATIONS 2": "ea860ee7c5753930e8316b96d85fa1f8",
  "KUBERNETES_AUTH_MIGRATIONS 1": "ff6d9a2bd299fbf415b424a3f1781bba",
  "LEASE_MIGRATIONS 1": "9fc6dc8a277fdbf1b45787bdb55118b4",
  "LEASE_MIGRATIONS 2": "34550d47ce765add53c421c6d6cb149c",
  "LEASE_WALK_MIGRATIONS 1": "83e9a585439068a19526d152d64de4cc",
  "LEASE_WALK_MIGRATIONS 2": "d83c60fa49de21e0e26d57546c9d8f90",
  "LISTING_MARK_MIGRATIONS 1": "55d11cdf21c9f88d9d9faff05146655d",
  "LIST_OPENING_MIGRATIONS 1": "a727f87e2f032389e439a804d7f34c47",
  "MERGED_MIGRATIONS 1": "43b83e1ef139f14b98ab8b3eb797d3db",
  "MERGE_MIGRATIONS 1": "3c123faafd07531e4f1275d0b0ad1d45",
  "ORGANIZATION_DIRECTORY_MIGRATIONS 1": "089cdaddf90ab2b5ff2f5281472bdbc9",
  "ORGANIZATION_MIGRATIONS 1": "c2b1c59dc5815222d57e853eea1d78ce",
  "ORIGIN_MIGRATIONS 1": "913ea74a83776b91bd3c85003fd8ca50",
  "POLICY_VERSION_MIGRATIONS 1": "fbc3d1a7a65f29cbefefdbaf671449de",
  "RESTORE_MIGRATIONS 1": "0bc0954a8dac9a00997f72026a126ff2",
  "ROW_FLOOR_MIGRATIONS 1": "22c5b6b59ea94f464f84add707777480",
  "SETUP_MIGRATIONS 1": "3fdc420908cc53caa373e2a4d4278efa",
  "SHARD_CHECK_MIGRATIONS 1": "c8873628ed283d0dbd287e8e7e3bb7da",
  "SHARD_TIDY_MIGRATIONS 1": "46be3430067f9cd8cb14c9008b37d1c0",
  "SYSTEM_MARK_MIGRATIONS 1": "dbf8642cd15931bb38afb50e5b1e7a76",
  "SYSTEM_MIGRATIONS 1": "e8ec088e89ace766dead947323ecaf26",
  "SYSTEM_MIGRATIONS 2": "ba8bb4846454a9907e3e68a0baf597c6",
  "TEAM_MIGRATIONS 1": "246927487000e9bbb5b6f14f6d44ec2d",
  "TEAM_MIGRATIONS 2": "3396ef6e3efbf2ac14ca3b63006c8a84",
  "TIDY_MIGRATIONS 1": "9e26a821a566fff1aa612d84aa1586e5",
  "TOKEN_INDEX_MIGRATIONS 1": "ad47c8ce50139a25bac6a54943216aca",
  "TOKEN_MIGRATIONS 1": "312db2afc0f31ddbad6df805280d0bfb",
  "TOKEN_PARENT_MIGRATIONS 1": "72cb74a8ee2ed60993aa18d607b61202",
  "TOKEN_REVOCATION_MIGRATIONS 1": "f76c03daf998631b1df8c058df44576d",
  "TOKEN_REVOCATION_MIGRATIONS 2": "6156fd6d76488c01f5f04cf797e51995",
  "TOKEN_ROLE_MIGRATIONS 1": "1def83a53622583060f88d0b382cfeba",
};

function migrations(): [name: string, migration: Migration][] {
  return allSources()
    .flatMap((module) => Object.entries(module))
    .filter(([name]) => name.endsWith("_MIGRATIONS"))
    .flatMap(([name, list]) => (list as readonly Migration[]).map((one): [string, Migration] => [name, one]));
}

async function hashOf({ sql }: Migration): Promise<string> {
  const text = new TextEncoder().encode(sql.replace(/\s+/g, " ").trim());
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", text));
  return Array.from(hash.slice(0, 16), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

it("the SQL of a released migration never changes", async () => {
  const now: Record<string, string> = {};
  for (const [name, migration] of migrations()) now[`${name} ${migration.version}`] = await hashOf(migration);
  expect(now).toEqual(RELEASED);
});
