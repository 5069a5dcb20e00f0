import type { CountKey } from "../terms.ts";

/** A counter and by how much it changes. */
export interface CountDelta extends CountKey {
  readonly n: number;
}

/** Ids that come to the list of a term, and those that leave it. */
export interface TermDelta {
  readonly added: Set<number>;
  readonly gone: Set<number>;
}

/** Changes that the tables of counters and of lists do not have yet. */
export interface Changes {
  readonly counts: Iterable<CountDelta>;
  /** By term. */
  readonly terms: ReadonlyMap<string, TermDelta>;
}
