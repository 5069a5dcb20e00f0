import { isWithin } from "./copy-age.ts";

/**
 * Isolates keep copies of entities and groups for longer than POLICY_CACHE_SECONDS as long as nobody expects a change. Whoever
 * is going to change something tells the system object first which part of them it is in: one of the parts that entities are
 * divided into, or all groups. Every isolate learns it with its copy of the installation, and goes by POLICY_CACHE_SECONDS in
 * that part for a minute. So one word covers any number of changes.
 */

/** For so long (ms) changes of a part are expected after somebody said so. */
const EXPECTED_MS = 60_000;
/** After so long (ms) who changes something says it again: what is under way then, and clocks that differ, have the rest. */
const SAID_MS = 40_000;
/** The longest (ms) that a copy is good without asking: a bound for what nobody announced. */
const LONGEST_MS = 60_000;

/** When changes of parts were last announced (ms). */
export type ExpectedChanges = ReadonlyMap<number, number>;

/** True while a change at `now` (ms) is covered by what was announced at `announcedAt` (ms). */
export function isAnnounced(announcedAt: number | undefined, now: number): boolean {
  return announcedAt !== undefined && isWithin(announcedAt, SAID_MS, now);
}

/** Announcements that still decide about a copy were made after this (ms). */
export function oldestThatMatters(now: number): number {
  return now - EXPECTED_MS - LONGEST_MS - SAID_MS;
}

/** A copy of a part. Times in ms. */
export interface PartCopy {
  /** When the copy was last known to be true. */
  readonly checkedAt: number;
  /** When a change of the part was last announced; undefined for never; null when nobody knows. */
  readonly announcedAt: number | undefined | null;
  /** POLICY_CACHE_SECONDS. */
  readonly maxAgeMs: number;
}

/** True when a copy may be used at `now` (ms) without asking. */
export function isGoodCopy({ checkedAt, announcedAt, maxAgeMs }: PartCopy, now: number): boolean {
  if (isWithin(checkedAt, maxAgeMs, now)) return true;
  if (announcedAt === null || !isWithin(checkedAt, LONGEST_MS, now)) return false;
  // Changes that were made while they were expected have no announcement of their own.
  return announcedAt === undefined || (checkedAt >= announcedAt + EXPECTED_MS && now >= announcedAt + EXPECTED_MS);
}
