import { readdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

/** What is wrong with a copy of databases. */
export interface Verified {
  readonly databases: number;
  /** A line for each that is damaged. */
  readonly damage: readonly string[];
}

/**
 * Opens every database of a copy, checks it as a whole, and puts what is in its log into it, so that one file is left of each.
 *
 * @param objects the directory with a directory for each class.
 */
export function verifyDatabases(objects: string): Verified {
  const damage: string[] = [];
  let databases = 0;
  for (const entry of readdirSync(objects, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !entry.name.endsWith(".sqlite")) continue;
    databases++;
    const file = join(entry.parentPath, entry.name);
    const problem = problemOf(file);
    if (problem !== undefined) damage.push(`${file}: ${problem}`);
  }
  return { databases, damage };
}

function problemOf(file: string): string | undefined {
  try {
    const database = new DatabaseSync(file);
    try {
      const check = String(database.prepare("PRAGMA integrity_check(1)").get()?.integrity_check);
      if (check !== "ok") return check;
      database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
      return undefined;
    } finally {
      database.close();
    }
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
