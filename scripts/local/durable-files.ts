import { closeSync, fsyncSync, openSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

/**
 * Writes a file for its owner alone, atomically. Its content and its name are on the disk afterwards.
 *
 * @param unfinished where it is written first, on the same file system. A crash can leave it behind.
 */
export function writeDurably(file: string, content: string | Uint8Array, unfinished = `${file}.new`): void {
  writeFileSync(unfinished, content, { mode: 0o600, flush: true });
  renameSync(unfinished, file);
  flush(dirname(file));
}

/** Flushes a file, or the names in a directory, to the disk. */
export function flush(path: string): void {
  const descriptor = openSync(path, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
