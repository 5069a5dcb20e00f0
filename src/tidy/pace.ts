import { isolates } from "../base/isolates.ts";

/** Shortest and longest pause between two steps (ms). */
const SHORTEST_MS = 25;
const LONGEST_MS = 60_000;

/** Share of its time that the check of one shard may work, where objects have a thread each. */
const SHARE = 0.05;
/** The same for the checks of all shards together, where one process has one thread for everything. */
const SHARE_OF_ONE_THREAD = 0.2;

/** The share of time that each of `checks` may work. */
export function shareOf(checks: number): number {
  return isolates().areMany ? SHARE : SHARE_OF_ONE_THREAD / checks;
}

/**
 * The pause after a step, in ms, by which work takes no more than a share of the time. A step that takes long because others are
 * waiting is followed by a long pause, so the check yields to them.
 *
 * @param workedMs how long the step took, waiting included.
 * @param share above 0 and at most 1.
 */
export function pauseAfter(workedMs: number, share: number): number {
  const pause = Math.max(0, workedMs) * (1 / share - 1);
  return Math.min(Math.max(Math.ceil(pause), SHORTEST_MS), LONGEST_MS);
}
