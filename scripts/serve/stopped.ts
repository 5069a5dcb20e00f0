import { existsSync, readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

const LOOK_EVERY_MS = 2;
/** The wait (ms) on systems without /proc: much longer than a write that was under way takes. */
const BLIND_WAIT_MS = 200;

/**
 * Waits until no thread of a process does anything any more after it was sent SIGSTOP. The signal alone is not enough: a thread
 * that is in the middle of a write finishes it first.
 *
 * @returns false when that takes longer than `maxMs`.
 */
export async function waitUntilStopped(pid: number, maxMs: number): Promise<boolean> {
  const tasks = `/proc/${pid}/task`;
  if (!existsSync(tasks)) {
    await sleep(BLIND_WAIT_MS);
    return true;
  }
  for (const until = performance.now() + maxMs; performance.now() < until; await sleep(LOOK_EVERY_MS)) {
    if (readdirSync(tasks).every((task) => isStopped(`${tasks}/${task}/stat`))) return true;
  }
  return false;
}

/** A thread that ended meanwhile does nothing either. The state follows the name, which is in brackets and can hold any. */
function isStopped(path: string): boolean {
  try {
    const state = readFileSync(path, "utf8").split(") ").at(-1)?.[0];
    return state === "T" || state === "t" || state === "Z" || state === "X";
  } catch {
    return true;
  }
}
