import { constants, copyFileSync, mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { codeOf } from "../../local/error-code.ts";

/** Attributes that show whether a file has changed since it was copied. */
interface Seen {
  readonly size: number;
  readonly modifiedAt: number;
  readonly inode: number;
  /** When the attributes were read, before the copy (ms). */
  readonly at: number;
}

/** Clocks of file systems are coarse: a file written this shortly (ms) before its copy may have changed unnoticed. */
const TOO_FRESH_MS = 2_000;

/** Shared memory of processes that have the database open. SQLite rebuilds it from the log. */
const SHARED_MEMORY = "-shm";

/**
 * The copy of a directory that is in use. The first pass copies all of it; files that change during the pass may be inconsistent. The last
 * pass, while the server is paused, copies the changed files again; then the copy is exact.
 */
export class DirectoryCopy {
  readonly #from: string;
  readonly #to: string;
  readonly #copied = new Map<string, Seen>();

  constructor(from: string, to: string) {
    this.#from = from;
    this.#to = to;
  }

  /** Updates the copy. Returns the number of copied files. `clock` in ms. */
  pass(clock: () => number): number {
    const there = new Set<string>();
    let copies = 0;
    for (const name of filesBelow(this.#from)) {
      there.add(name);
      if (this.#bring(name, clock())) copies++;
    }
    for (const name of [...this.#copied.keys()].filter((copied) => !there.has(copied))) this.#drop(name);
    return copies;
  }

  /** Copies a file unless the copy is current. Returns true for a copy. A file that was just deleted is left out. */
  #bring(name: string, at: number): boolean {
    try {
      const { size, mtimeMs: modifiedAt, ino: inode } = statSync(join(this.#from, name));
      const seen = { size, modifiedAt, inode, at };
      if (isSame(this.#copied.get(name), seen)) return false;
      const target = join(this.#to, name);
      mkdirSync(dirname(target), { recursive: true, mode: 0o700 });
      copyFileSync(join(this.#from, name), target, constants.COPYFILE_FICLONE);
      this.#copied.set(name, seen);
      return true;
    } catch (error) {
      if (codeOf(error) !== "ENOENT") throw error;
      this.#drop(name);
      return false;
    }
  }

  #drop(name: string): void {
    rmSync(join(this.#to, name), { force: true });
    this.#copied.delete(name);
  }
}

function isSame(copied: Seen | undefined, now: Seen): boolean {
  return (
    copied !== undefined &&
    copied.size === now.size &&
    copied.modifiedAt === now.modifiedAt &&
    copied.inode === now.inode &&
    copied.modifiedAt < copied.at - TOO_FRESH_MS
  );
}

/** Paths of the files below a directory. */
function* filesBelow(directory: string, below = ""): Generator<string> {
  for (const entry of readdirSync(join(directory, below), { withFileTypes: true })) {
    const name = join(below, entry.name);
    if (entry.isDirectory()) yield* filesBelow(directory, name);
    else if (entry.isFile() && !name.endsWith(SHARED_MEMORY)) yield name;
  }
}
