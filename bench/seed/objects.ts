import { createHash, createHmac, randomBytes } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import { importKeys, type Keys, parseSealKey, unsealKeyRing } from "../../src/crypto/key-ring.ts";

// Large installations are written into the databases of a stopped server: a million tokens would take most of an hour through the API.

/** Random bytes of an object's id (or a hash of its name); the rest is the namespace's MAC of them. */
const ID_BASE_BYTES = 16;

/** The directory with the databases of a class, in the data directory of `npm run serve`. */
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

/** The file of the object with this id. */
export function databasePath(data: string, className: string, id: string): string {
  return join(objectsOf(data, className), `${id}.sqlite`);
}

/** Opens the database of a named object without durability: it is deleted after the run. */
export function openDatabase(data: string, className: string, name: string): DatabaseSync {
  const objects = objectsOf(data, className);
  const base = createHmac("sha256", namespaceKey(objects)).update(name).digest().subarray(0, ID_BASE_BYTES);
  const database = new DatabaseSync(join(objects, `${provenId(objects, base)}.sqlite`));
  database.exec("PRAGMA synchronous = OFF; PRAGMA cache_size = -65536");
  return database;
}

/** A new id of the class's namespace, in hex. */
export function newObjectId(data: string, className: string): string {
  return provenId(objectsOf(data, className), randomBytes(ID_BASE_BYTES));
}

/** The keys of an installation. */
export async function keysOf(data: string, sealKeyText: string): Promise<Keys> {
  const database = openDatabase(data, "System", "system");
  const row = database.prepare("SELECT sealed_key_ring FROM installation").get();
  database.close();
  const sealKey = parseSealKey(sealKeyText);
  const ring = sealKey.ok ? await unsealKeyRing(String(row?.sealed_key_ring), sealKey.value) : null;
  if (!ring) throw new Error("the key ring does not open");
  return importKeys(ring);
}

/** A database behind the part of SqlStorage that the store of the inventory uses. */
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

/** workerd derives the ids of a namespace from its unique key, which is also the name of its directory. */
function namespaceKey(objects: string): Buffer {
  return createHash("sha256").update(basename(objects)).digest();
}

function provenId(objects: string, base: Buffer): string {
  const proof = createHmac("sha256", namespaceKey(objects)).update(base).digest().subarray(0, ID_BASE_BYTES);
  return Buffer.concat([base, proof]).toString("hex");
}
