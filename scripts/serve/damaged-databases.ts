import { execFile } from "node:child_process";
import { basename, dirname } from "node:path";

/** A database of the data directory that is damaged. */
export interface DamagedDatabase {
  readonly file: string;
  readonly problem: string;
}

/** Most damaged databases that are looked for. */
const MAX_DAMAGED = 20;

/** Checks each database below a directory, and writes those with a problem as JSON. */
const SCRIPT = `
const { readdirSync } = require("node:fs");
const { join } = require("node:path");
const { DatabaseSync } = require("node:sqlite");
function problemOf(file) {
  let database;
  try {
    database = new DatabaseSync(file, { readOnly: true, timeout: 5000 });
    const { quick_check: found } = database.prepare("PRAGMA quick_check(1)").get();
    return found === "ok" ? null : found;
  } catch (error) {
    // 11 SQLITE_CORRUPT, 26 SQLITE_NOTADB. Others, such as of a busy database, say nothing about the file.
    return [11, 26].includes(error.errcode & 255) ? error.message : null;
  } finally {
    database?.close();
  }
}
const damaged = [];
for (const entry of readdirSync(process.argv[1], { recursive: true, withFileTypes: true })) {
  if (damaged.length >= ${MAX_DAMAGED} || !entry.isFile() || !entry.name.endsWith(".sqlite")) continue;
  const file = join(entry.parentPath, entry.name);
  const problem = problemOf(file);
  if (problem !== null) damaged.push({ file, problem: problem.replaceAll("\\n", " ") });
}
process.stdout.write(JSON.stringify(damaged));
`;

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
