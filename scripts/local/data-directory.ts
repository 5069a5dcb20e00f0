import { randomBytes } from "node:crypto";
import { accessSync, constants, existsSync, readFileSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { err, ok, type Result } from "../../src/base/result.ts";
import { codeOf } from "./error-code.ts";
import { makeDirectory } from "./make-directory.ts";

/** With less free space the disk counts as full. */
const MIN_FREE_BYTES = 16 * 1024 * 1024;

/** The data directory of one server at a time. */
export class DataDirectory {
  readonly path: string;
  /** Open for as long as the lock is held. */
  readonly #lock: DatabaseSync;

  private constructor(path: string, lock: DatabaseSync) {
    this.path = path;
    this.#lock = lock;
  }

  /**
   * Makes the directory for this user only, checks that it can be written, and locks it. The error is for the operator.
   *
   * @param above whether directories above it are made, too. Where the path was typed, a missing one is a mistake in it.
   */
  static open(directory: string, above: "made" | "needed" = "made"): Result<DataDirectory, string> {
    const path = resolve(directory);
    const parent = dirname(path);
    if (above === "needed" && !existsSync(parent))
      return err(
        `${path} cannot be used for data: ${parent} does not exist. Is --data mistyped? If not, mkdir -p ${parent}`,
      );
    const problem = unusable(path);
    if (problem !== undefined) return err(problem);

    const lock = lockFile(join(path, "lock"));
    if (lock === undefined) {
      return err(`${path} is in use by another server${ownerOf(path)}; stop that one, or choose another --data DIR`);
    }
    writeFileSync(join(path, "pid"), `${process.pid}\n`, { mode: 0o600 });
    return ok(new DataDirectory(path, lock));
  }

  file(name: string): string {
    return join(this.path, name);
  }

  has(name: string): boolean {
    return existsSync(this.file(name));
  }

  /** Writes a file that only this user can read. */
  write(name: string, content: string): void {
    // Removed first, as an existing file keeps its mode.
    rmSync(this.file(name), { force: true });
    writeFileSync(this.file(name), content, { mode: 0o600, flag: "wx" });
  }

  /** The content of a file without the line end. A missing file is made with the result of `make`. */
  readOrMake(name: string, make: () => string): string {
    if (!this.has(name)) this.write(name, `${make()}\n`);
    return readFileSync(this.file(name), "utf8").trim();
  }

  /** Removes files and directories. */
  remove(names: readonly string[]): void {
    for (const name of names) rmSync(this.file(name), { recursive: true, force: true });
  }

  /** Lets another server use the directory. */
  close(): void {
    rmSync(this.file("pid"), { force: true });
    this.#lock.close();
  }
}

/** Why a directory can't be used for data; undefined when it can. */
function unusable(path: string): string | undefined {
  try {
    makeDirectory(path);
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK);
    // Permissions alone do not show a file system that is mounted read-only or has no space left.
    const probe = join(path, `probe-${randomBytes(8).toString("hex")}`);
    try {
      writeFileSync(probe, Buffer.alloc(64 * 1024));
    } finally {
      rmSync(probe, { force: true });
    }
    const { bavail, bsize } = statfsSync(path);
    if (bavail * bsize < MIN_FREE_BYTES)
      return `the disk of ${path} is full; free some space, or choose another --data DIR`;
    return undefined;
  } catch (error) {
    return `${path} cannot be used for data: ${reason(error)}`;
  }
}

function reason(error: unknown): string {
  switch (codeOf(error)) {
    case "EACCES":
    case "EPERM":
      return "this user may not write there";
    case "EROFS":
      return "the file system is read-only";
    case "ENOSPC":
    case "EDQUOT":
      return "no space is left";
    case "ENOTDIR":
    case "EEXIST":
      return "it is not a directory";
    default:
      return error instanceof Error ? error.message : String(error);
  }
}

/**
 * Locks a file until this process ends. SQLite uses a lock of the operating system, so no stale lock remains after a crash or a power cut,
 * also where process ids repeat (containers).
 */
function lockFile(path: string): DatabaseSync | undefined {
  const database = new DatabaseSync(path, { timeout: 0 });
  try {
    database.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
    return database;
  } catch {
    database.close();
    return undefined;
  }
}

function ownerOf(path: string): string {
  try {
    return ` (process ${readFileSync(join(path, "pid"), "utf8").trim()})`;
  } catch {
    return "";
  }
}
