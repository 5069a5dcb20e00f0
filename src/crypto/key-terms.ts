import type { KeyRing, KeyTerm } from "./key-ring.ts";

/** Margin (ms) before a term counts as aged, in which requests in flight have ended. */
const REST_MS = 7_200_000;
/** Largest difference between two clocks (ms). */
const CLOCKS_MS = 3_600_000;

/** A term that nothing new is made under, and whose batch tokens have expired. Stored values may still need it. */
export interface AgedTerm {
  readonly version: number;
  /** Everything made under the term was made between these times (ms). Intervals of consecutive terms overlap. */
  readonly from: number;
  readonly until: number;
}

/**
 * The terms that may be dropped if no stored value needs them.
 *
 * @param terms oldest first, as in the ring.
 * @param now ms.
 * @param longestTtl longest TTL of a batch token (seconds).
 * @param ignoranceMs time after a change of the key ring during which an isolate may still use the previous one (ms).
 */
export function agedTerms(
  terms: readonly Pick<KeyTerm, "version" | "usedFrom">[],
  now: number,
  longestTtl: number,
  ignoranceMs: number,
): AgedTerm[] {
  return terms.flatMap(({ version, usedFrom }, at): AgedTerm[] => {
    const next = terms[at + 1];
    if (next === undefined) return [];
    const usedUntil = next.usedFrom + ignoranceMs;
    if (usedUntil + REST_MS + longestTtl * 1000 > now) return [];
    return [{ version, from: at === 0 ? 0 : usedFrom - CLOCKS_MS, until: usedUntil + CLOCKS_MS }];
  });
}

/** Versions of the aged terms whose interval contains `madeAt` (ms): a value made then may be under any of them. */
export function termsAbout(aged: readonly AgedTerm[], madeAt: number): number[] {
  return aged.filter(({ from, until }) => from <= madeAt && madeAt <= until).map(({ version }) => version);
}

/** `ring` without the terms of these versions; null when it has none of them. The newest term stays. */
export function withoutTerms(ring: KeyRing, versions: ReadonlySet<number>): KeyRing | null {
  const data = ring.data.filter(({ version }, at) => at === ring.data.length - 1 || !versions.has(version));
  return data.length === ring.data.length ? null : { ...ring, data };
}
