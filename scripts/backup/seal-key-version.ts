import { readdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { sealedWithVersion } from "../../src/crypto/key-ring.ts";

/** Directories of the class that has the key ring begin so. */
const CLASS = "System-";

/**
 * The version of the seal key that opens a copy of data; undefined before the installation is initialized.
 *
 * @param objects the directory with one directory for each class.
 */
export function sealKeyVersionIn(objects: string): number | undefined {
  for (const directory of readdirSync(objects).filter((name) => name.startsWith(CLASS))) {
    // The other file is the runtime's own list of alarms.
    for (const file of readdirSync(join(objects, directory)).filter((name) => /^[0-9a-f]+\.sqlite$/.test(name))) {
      const version = versionIn(join(objects, directory, file));
      if (version !== undefined) return version;
    }
  }
  return undefined;
}

function versionIn(file: string): number | undefined {
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    // A crash at the very first request leaves a file without tables.
    if (!database.prepare("SELECT 1 FROM sqlite_master WHERE name = 'installation'").get()) return undefined;
    const row = database.prepare("SELECT sealed_key_ring FROM installation").get();
    return sealedWithVersion(String(row?.sealed_key_ring ?? "")) ?? undefined;
  } finally {
    database.close();
  }
}
