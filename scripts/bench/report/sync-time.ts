import { closeSync, fsyncSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { median } from "../statistics.ts";

const WRITES = 50;

/** The middle time (ms) of a small write that is on disk when it returns: what every commit of a database waits for. */
export function measureSync(directory: string): number {
  const path = join(directory, "sync-probe");
  const file = openSync(path, "w");
  const times: number[] = [];
  for (let write = 0; write < WRITES; write++) {
    const began = performance.now();
    writeSync(file, Buffer.alloc(4096, write));
    fsyncSync(file);
    times.push(performance.now() - began);
  }
  closeSync(file);
  rmSync(path);
  return median(times);
}
