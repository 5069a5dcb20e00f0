import type { KeyRing, KeyTerm } from "./key-ring.ts";

/** How long the next term has been in use before a term counts as aged (ms): whatever was under way has ended. */
const REST_MS = 7_200_000;
/** How far clocks may be apart (ms). */
const CLOCKS_MS = 3_600_000;

/** A term under which nothing is made any more, and whose batch tokens have ended. What is stored may need it still. */
export interface AgedTerm {
  readonly version: number;
  /** What was made under it was made between these moments (ms). Some of the terms beside it is within them, too. */
  readonly from: number;
  readonly until: number;
}

/**
 * The terms that may go if nothing stored needs them.
 *
 * @param terms oldest first, as in the ring.
 * @param now ms.
 * @param longestLifeMs the longest life that a batch token can have.
 * @param ignoranceMs how long after a change of the ring an isolate can still use the one from before.
 */
export function agedTerms(
  terms: readonly Pick<KeyTerm, "version" | "usedFrom">[],
  now: number,
  longestLifeMs: number,
  ignoranceMs: number,
): AgedTerm[] {
  return terms.flatMap(({ version, usedFrom }, at): AgedTerm[] => {
    const next = terms[at + 1];
    if (next === undefined) return [];
    const usedUntil = next.usedFrom + ignoranceMs;
    if (usedUntil + REST_MS + longestLifeMs > now) return [];
    return [{ version, from: at === 0 ? 0 : usedFrom - CLOCKS_MS, until: usedUntil + CLOCKS_MS }];
  });
}

/** Those of `aged` in whose time `madeAt` (ms) lies: what was made then may have been made under any of them. */
export function termsAbout(aged: readonly AgedTerm[], madeAt: number): number[] {
  return aged.filter(({ from, until }) => from <= madeAt && madeAt <= until).map(({ version }) => version);
}

/** `ring` without the terms of these versions; null when it has none of them. The newest term stays. */
export function withoutTerms(ring: KeyRing, versions: readonly number[]): KeyRing | null {
  const data = ring.data.filter(({ version }, at) => at === ring.data.length - 1 || !versions.includes(version));
  return data.length === ring.data.length ? null : { ...ring, data };
}
