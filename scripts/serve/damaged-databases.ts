import { execFile } from "node:child_process";
import { basename, dirname } from "node:path";

/** A database of the data directory that is damaged. */
export interface DamagedDatabase {
  readonly file: string;
  readonly problem: string;
}

/** Most damaged databases that are looked for. */
const MAX_DAMAGED = 20;

/**
 * Checks each database below a directory, and returns those with a problem. Its text is run by another process, so it uses
 * nothing outside of itself.
 */
function damagedBelow(objects: string, most: number): DamagedDatabase[] {
  const { readdirSync } = process.getBuiltinModule("node:fs");
  const { join } = process.getBuiltinModule("node:path");
  const { DatabaseSync } = process.getBuiltinModule("node:sqlite");

  function problemOf(file: string): string | null {
    let database: InstanceType<typeof DatabaseSync> | undefined;
    try {
      database = new DatabaseSync(file, { readOnly: true, timeout: 5000 });
      const found = String(database.prepare("PRAGMA quick_check(1)").get()?.quick_check);
      return found === "ok" ? null : found;
    } catch (error) {
      // 11 SQLITE_CORRUPT, 26 SQLITE_NOTADB. Others, such as of a busy database, say nothing about the file.
      const isDamage = error instanceof Error && "errcode" in error && [11, 26].includes(Number(error.errcode) & 255);
      return isDamage ? error.message : null;
    } finally {
      database?.close();
    }
  }

  const damaged: DamagedDatabase[] = [];
  for (const entry of readdirSync(objects, { recursive: true, withFileTypes: true })) {
    if (damaged.length >= most || !entry.isFile() || !entry.name.endsWith(".sqlite")) continue;
    const file = join(entry.parentPath, entry.name);
    const problem = problemOf(file);
    if (problem !== null) damaged.push({ file, problem: problem.replaceAll("\n", " ") });
  }
  return damaged;
}

const SCRIPT = `process.stdout.write(JSON.stringify((${damagedBelow})(process.argv[1], ${MAX_DAMAGED})))`;

/**
 * The databases below a directory whose structure is damaged, also while workerd uses them. They are read in a process
 * of its own, as a large one takes seconds. Empty when they can't be read.
 */
export function damagedDatabases(objects: string): Promise<readonly DamagedDatabase[]> {
  return new Promise((resolve) => {
    execFile(process.execPath, ["--no-warnings", "-e", SCRIPT, objects], (error, stdout) => {
      resolve(error ? [] : JSON.parse(stdout));
    });
  });
}

/** `TokenTree/3f….sqlite`: the name of the directory ends with the secret id of the installation. */
export function shownDatabase({ file }: DamagedDatabase): string {
  return `${basename(dirname(file)).replace(/-[^-]*$/, "")}/${basename(file)}`;
}
