import { spawnSync } from "node:child_process";
import { closeSync, openSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";

const SOURCE = join(import.meta.dirname, "moved-clock.c");

/** Builds the library that moves clocks. Null where it can't be built: it needs Linux and `cc`. */
export function buildMovedClock(directory: string): string | null {
  const library = join(directory, "moved-clock.so");
  const built = spawnSync("cc", ["-shared", "-fPIC", "-O2", "-o", library, SOURCE]);
  return process.platform === "linux" && built.status === 0 ? library : null;
}

const BYTES = 8;

function inBytes(ms: number): Buffer {
  const bytes = Buffer.alloc(BYTES);
  bytes.writeBigInt64LE(BigInt(ms));
  return bytes;
}

/** The clock of a node, which can be moved while the node runs. */
export class Clock {
  /** Environment variables for the node's processes. */
  readonly settings: Readonly<Record<string, string>>;
  readonly #file: string;
  readonly #usualMs: number;

  /**
   * @param library from `buildMovedClock`; null: the clock can't be moved.
   * @param usualMs offset of the unmoved clock from the machine's (ms); negative: behind.
   */
  constructor(library: string | null, directory: string, name: string, usualMs: number) {
    this.#file = join(directory, `${name}.clock`);
    this.#usualMs = usualMs;
    this.settings = library === null ? {} : { LD_PRELOAD: library, MOVED_CLOCK: this.#file };
    writeFileSync(this.#file, inBytes(usualMs));
  }

  /** Moves the clock to this distance from its usual offset (ms), at once. */
  move(byMs: number): void {
    // Written in place, since the processes have mapped the file.
    const file = openSync(this.#file, "r+");
    writeSync(file, inBytes(this.#usualMs + byMs), 0, BYTES, 0);
    closeSync(file);
  }
}
