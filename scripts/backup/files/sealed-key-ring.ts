import { readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";

/** Prefix of the directory of the class that stores the key ring. */
const CLASS = "System-";

/**
 * The key ring in a verified copy of data, wrapped with the seal key; null before the installation is initialized.
 *
 * @param objects the directory with one directory for each class. Nothing is written there.
 */
export function sealedKeyRingIn(objects: string): string | null {
  for (const directory of readdirSync(objects).filter((name) => name.startsWith(CLASS))) {
    // The other file is the runtime's own list of alarms.
    for (const file of readdirSync(join(objects, directory)).filter((name) => /^[0-9a-f]+\.sqlite$/.test(name))) {
      const ring = ringIn(join(objects, directory, file));
      if (ring !== null) return ring;
    }
  }
  return null;
}

function ringIn(file: string): string | null {
  // Without immutable, SQLite would make files beside a database in WAL mode to read it.
  const database = new DatabaseSync(`${pathToFileURL(resolve(file))}?immutable=1`);
  try {
    // A crash at the very first request leaves a file without tables.
    if (!database.prepare("SELECT 1 FROM sqlite_master WHERE name = 'installation'").get()) return null;
    const row = database.prepare("SELECT sealed_key_ring FROM installation").get();
    return typeof row?.sealed_key_ring === "string" ? row.sealed_key_ring : null;
  } finally {
    database.close();
  }
}
