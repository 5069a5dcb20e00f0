/*
 * The shards of the lists of tokens come in generations. Which tokens are whose follows from the times at which the later ones open.
 */

/** Generations that can open after the first one. A request can ask the shards of three a few times; of four it could not. */
export const MAX_LIST_OPENINGS = 2;

/** When generations after the first one open (ms), the earliest first, as this isolate knows it. */
let known: readonly number[] = [];

/**
 * When the generations of shards after the first one open (ms), the earliest first. Only what was loaded with the installation is known:
 * an object loads it before it asks.
 */
export function listOpenings(): readonly number[] {
  return known;
}

/** This isolate has read when generations open. */
export function noteListOpenings(openings: readonly number[]): void {
  known = openings;
}
