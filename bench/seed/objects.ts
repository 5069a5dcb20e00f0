import { createHash, createHmac, randomBytes } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import { importKeys, type Keys, parseSealKey, unsealKeyRing } from "../../src/crypto/key-ring.ts";

// The bench writes large installations directly into the databases of a stopped server,
// because creating a million tokens through the API would take most of an hour.

/** Length of the first part of an object id: random bytes, or a MAC of the name. The rest is a MAC of this part. */
const ID_BASE_BYTES = 16;

/** The directory of a class's databases in the data directory of `npm run serve`. */
function objectsOf(data: string, className: string): string {
  const installationId = readFileSync(join(data, "installation-id"), "utf8").trim();
  return join(data, "objects", `${className}-${installationId}`);
}

/** The database files of all objects of a class. */
export function databasesOf(data: string, className: string): string[] {
  const objects = objectsOf(data, className);
  return readdirSync(objects, { withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".sqlite"))
    .map(({ name }) => join(objects, name));
}

/** The database file of the object with this id. */
export function databasePath(data: string, className: string, id: string): string {
  return join(objectsOf(data, className), `${id}.sqlite`);
}

/** Opens the database of a named object without fsync: the data are deleted after the run. */
export function openDatabase(data: string, className: string, name: string): DatabaseSync {
  const objects = objectsOf(data, className);
  const base = createHmac("sha256", namespaceKey(objects)).update(name).digest().subarray(0, ID_BASE_BYTES);
  const database = new DatabaseSync(join(objects, `${provenId(objects, base)}.sqlite`));
  database.exec("PRAGMA synchronous = OFF; PRAGMA cache_size = -65536");
  return database;
}

/** A new object id in the namespace of a class (hex). */
export function newObjectId(data: string, className: string): string {
  return provenId(objectsOf(data, className), randomBytes(ID_BASE_BYTES));
}

/** Unseals the keys of an installation. */
export async function keysOf(data: string, sealKeyText: string): Promise<Keys> {
  const database = openDatabase(data, "System", "system");
  const row = database.prepare("SELECT sealed_key_ring FROM installation").get();
  database.close();
  const sealKey = parseSealKey(sealKeyText);
  const ring = sealKey.ok ? await unsealKeyRing(String(row?.sealed_key_ring), sealKey.value) : null;
  if (!ring) throw new Error("the key ring can't be unsealed");
  return importKeys(ring);
}

/** Adapts a database to the part of SqlStorage that InventoryStore uses. */
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

/** The MAC key of a namespace. workerd derives it from the namespace's unique key, which is the directory's name. */
function namespaceKey(objects: string): Buffer {
  return createHash("sha256").update(basename(objects)).digest();
}

/** The id that workerd accepts for a first part: the part and its MAC (hex). */
function provenId(objects: string, base: Buffer): string {
  const proof = createHmac("sha256", namespaceKey(objects)).update(base).digest().subarray(0, ID_BASE_BYTES);
  return Buffer.concat([base, proof]).toString("hex");
}
