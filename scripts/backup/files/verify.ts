import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, join, relative, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { z } from "zod";
import { err, ok, type Result } from "../../../src/base/result.ts";
import { COPY_NOTE } from "./copy-note.ts";
import { DIGESTS, differenceFrom } from "./digests.ts";

/** The result of a verification. */
export interface Verified {
  readonly databases: number;
  /** A line for each damaged database. */
  readonly damage: readonly string[];
}

/**
 * Checks every database of a copy and merges its log into it, so that each is one file.
 *
 * @param objects the directory with one directory for each class.
 */
export function verifyDatabases(objects: string): Verified {
  return verifyEach(objects, (file) => problemOf(file, (database) => database.exec("PRAGMA wal_checkpoint(TRUNCATE)")));
}

const COPY = z.looseObject({
  at: z.string(),
  version: z.string(),
  databases: z.number(),
  sealKeyVersion: z.number().optional(),
  files: DIGESTS.optional(),
});

/**
 * The note in a finished copy of files: the moment of the data (RFC 3339), the release that made the copy, and the digests
 * of its files, which earlier releases did not write.
 */
export type Copy = z.infer<typeof COPY>;

/** A warning about a copy that an earlier release made. */
export const NO_DIGESTS = `its ${COPY_NOTE} has no digests of its files, so damage within a database is not seen`;

/** Checks a finished copy of files without writing. The error is for the operator. */
export function verifyCopy(directory: string): Result<Copy, string> {
  const said = noteOf(directory);
  if (!said) return err(`${COPY_NOTE} can't be read`);
  // Most damage within a row leaves a database that opens and is consistent.
  const difference = said.files ? differenceFrom(directory, said.files) : null;
  if (difference !== null) return err(difference);
  if (!existsSync(join(directory, "installation-id"))) return err("installation-id is missing");
  const objects = join(directory, "objects");
  if (!existsSync(objects)) return err("objects is missing");
  // A finished copy has no logs. Without immutable, SQLite would make files beside a database in WAL mode to read it.
  const { databases, damage } = verifyEach(objects, (file) => problemOf(`${pathToFileURL(resolve(file))}?immutable=1`));
  if (damage[0] !== undefined) return err(damage[0]);
  return databases === said.databases ? ok(said) : err(`it has ${databases} databases of ${said.databases}`);
}

function noteOf(directory: string): Copy | null {
  try {
    return COPY.safeParse(JSON.parse(readFileSync(join(directory, COPY_NOTE), "utf8"))).data ?? null;
  } catch {
    return null;
  }
}

function verifyEach(objects: string, problemIn: (file: string) => string | undefined): Verified {
  const damage: string[] = [];
  let databases = 0;
  for (const entry of readdirSync(objects, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !entry.name.endsWith(".sqlite")) continue;
    databases++;
    const file = join(entry.parentPath, entry.name);
    const problem = problemIn(file);
    if (problem !== undefined)
      damage.push(`${join(basename(objects), relative(objects, file))}: ${problem.replaceAll("\n", " ")}`);
  }
  return { databases, damage };
}

/** @param location a path, or a URL of a file */
function problemOf(location: string, then?: (database: DatabaseSync) => void): string | undefined {
  try {
    const database = new DatabaseSync(location);
    try {
      const check = String(database.prepare("PRAGMA integrity_check(1)").get()?.integrity_check);
      if (check !== "ok") return check;
      then?.(database);
      return undefined;
    } finally {
      database.close();
    }
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
