import { constants, copyFileSync, mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";

/** What shows that a file has changed since it was copied. */
interface Seen {
  readonly size: number;
  readonly modifiedAt: number;
  readonly inode: number;
  /** When it was looked at, before it was copied. ms. */
  readonly at: number;
}

/** Clocks of file systems are coarse: a file that was written so shortly before it was copied may have changed since. ms. */
const TOO_FRESH_MS = 2_000;

/** Shared memory of processes that have the database open. SQLite rebuilds it from the log. */
const SHARED_MEMORY = "-shm";

/**
 * The copy of a directory that others may write to. The first pass copies all of it; files that change meanwhile may be
 * copied half changed. A second pass, while the server is paused, copies again what has changed; then the copy is exact.
 */
export class DirectoryCopy {
  readonly #from: string;
  readonly #to: string;
  readonly #copied = new Map<string, Seen>();

  constructor(from: string, to: string) {
    this.#from = from;
    this.#to = to;
  }

  /**
   * Makes the copy as the directory is now. Returns how many files that took.
   *
   * @param clock ms.
   */
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

  /** Copies a file unless the copy is current. A file that is deleted meanwhile is left out. */
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
      if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) throw error;
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

/** Files below a directory, by their path in it. */
function* filesBelow(directory: string, below = ""): Generator<string> {
  for (const entry of readdirSync(join(directory, below), { withFileTypes: true })) {
    const name = join(below, entry.name);
    if (entry.isDirectory()) yield* filesBelow(directory, name);
    else if (entry.isFile() && !name.endsWith(SHARED_MEMORY)) yield name;
  }
}
