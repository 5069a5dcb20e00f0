import type { Ms } from "./clock.ts";
import type { ObjectMoves } from "./object-moves.ts";
import type { SweepPace } from "./shared-thread.ts";

/**
 * What depends on where the Worker and its objects run: in many isolates of Cloudflare's network, in one process, or in
 * the nodes of a cluster. `src/app/deployments.ts` chooses one and adds it to the `env` that every request and object gets.
 */
export interface Deployment {
  /** How clean-ups share threads with requests. */
  readonly pace: SweepPace;
  /** Maximum difference between the clocks of the isolates. */
  readonly clockSkewMs: Ms;
  /** True when the platform can restrict where objects are stored and run. */
  readonly offersJurisdictions: boolean;
  /** What is known about moves of objects; null where no object moves while it is in use, so that no call is lost. */
  readonly moves: ObjectMoves | null;
  /** Time after which every isolate applies a change, if its copies are at most `maxAgeMs` old. */
  delayElsewhereMs(maxAgeMs: Ms): Ms;
  /** How long a copy may be used beyond its maximum age while its object does not answer. @param setMs the setting */
  graceMs(setMs: Ms): Ms;
  /** Returns those of the `changed` trees that other isolates can change too. */
  treesElsewhere(changed: readonly string[]): readonly string[];
  /** True when no other isolate makes trees: those that were allocated before this one's start may not be listed. */
  readonly makesAllTrees: boolean;
  /** Number of shards of the audit store: each isolate appends to one. */
  readonly auditShards: number;
  /** Maximum share of the time that each of `checks` background checks works. */
  shareOfCheck(checks: number): number;
}
