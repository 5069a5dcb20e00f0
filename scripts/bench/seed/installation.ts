import { createHash, createHmac, randomBytes } from "node:crypto";
import { basename, join } from "node:path";
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import { importKeys, type Keys, parseSealKey, unsealKeyRing } from "../../../src/crypto/key-ring.ts";
import { decodeStoredId } from "../../../src/token/ids.ts";
import { must } from "../must.ts";
import { type GroveBuild, objectsOf } from "../servers/grove.ts";

// Big installations are written straight into the databases of a stopped server: through the API a million tokens would
// take most of an hour. What is written is what the API would have written, in the same columns, from rows that it did write.

/** Bytes of an object's id that are drawn or come from its name; the rest proves that the namespace made it. */
const ID_BASE_BYTES = 16;

/** The keys of the installation on `directory`. */
export async function keysOf(build: GroveBuild, directory: string): Promise<Keys> {
  const database = openDatabase(build, directory, "System", "system");
  const row = database.prepare("SELECT sealed_key_ring FROM installation").get();
  database.close();
  const ring = await unsealKeyRing(
    String(row?.sealed_key_ring),
    must(parseSealKey(build.settings.GROVE_SEAL_KEY ?? "")),
  );
  if (!ring) throw new Error("the key ring does not open");
  return importKeys(ring);
}

/** Opens the database of the object of a class with a name. */
export function openDatabase(build: GroveBuild, directory: string, className: string, name: string): DatabaseSync {
  const objects = objectsOf(build, directory, className);
  const base = createHmac("sha256", namespaceKey(objects)).update(name).digest().subarray(0, ID_BASE_BYTES);
  return new DatabaseSync(databasePath(build, directory, className, provenId(objects, base)));
}

/** An id as the class's namespace draws one, in hex. */
export function newObjectId(build: GroveBuild, directory: string, className: string): string {
  return provenId(objectsOf(build, directory, className), randomBytes(ID_BASE_BYTES));
}

/** The file of the object with this id. */
export function databasePath(build: GroveBuild, directory: string, className: string, id: string): string {
  return join(objectsOf(build, directory, className), `${id}.sqlite`);
}

/** The id of the tree that an accessor leads to, in hex. */
export function treeIdOf(accessor: string): string {
  const route = decodeStoredId(accessor);
  if (!route) throw new Error("an accessor that the API gave leads nowhere");
  return route.treeId;
}

/** workerd keys the ids of a namespace with its unique key, which is also the name of its directory. */
function namespaceKey(objects: string): Buffer {
  return createHash("sha256").update(basename(objects)).digest();
}

function provenId(objects: string, base: Buffer): string {
  const proof = createHmac("sha256", namespaceKey(objects)).update(base).digest().subarray(0, ID_BASE_BYTES);
  return Buffer.concat([base, proof]).toString("hex");
}

/** Runs `work` as one transaction that nobody waits for the disk of: the data are thrown away after the run. */
export function inBulk(database: DatabaseSync, work: () => void): void {
  database.exec("PRAGMA synchronous = OFF; PRAGMA cache_size = -262144; BEGIN");
  work();
  database.exec("COMMIT; PRAGMA wal_checkpoint(TRUNCATE)");
  database.close();
}

/** A row as SQLite gives it. */
export type Row = Record<string, string | number | bigint | null | Uint8Array>;

/** Adds rows to a table, each the row `like` with some columns changed. */
export function insertLike(database: DatabaseSync, table: string, like: Row, changes: Iterable<Row>): void {
  const columns = Object.keys(like);
  const places = columns.map(() => "?").join(", ");
  const insert = database.prepare(`INSERT INTO ${table} (${columns.join(", ")}) VALUES (${places})`);
  for (const change of changes) {
    insert.run(...columns.map((column) => (column in change ? change[column] : like[column]) ?? null));
  }
}

/** A database as an object sees its own, as far as the stores of lists and of the inventory use it. */
export function asStorage(database: DatabaseSync): SqlStorage {
  const prepared = new Map<string, StatementSync>();
  const exec = <T extends Record<string, SqlStorageValue>>(query: string, ...values: SQLInputValue[]) => {
    const statement = prepared.get(query) ?? database.prepare(query);
    prepared.set(query, statement);
    const rows = statement.all(...values) as T[];
    const cursor: Pick<SqlStorageCursor<T>, "toArray" | "one" | typeof Symbol.iterator> = {
      toArray: () => rows,
      one() {
        const [row] = rows;
        if (!row) throw new Error("no row was found");
        return row;
      },
      [Symbol.iterator]: () => rows[Symbol.iterator](),
    };
    return cursor as SqlStorageCursor<T>;
  };
  return { exec } as SqlStorage;
}
