import type { Ms, Seconds } from "../base/clock.ts";
import type { KeyTerm } from "../crypto/key-ring.ts";

/** Margin before a term counts as aged, in which requests in flight have ended. */
const REST_MS = 7_200_000;
/** Largest difference between two clocks. */
const CLOCKS_MS = 3_600_000;

/** A term that nothing new is made under, and whose batch tokens have expired. Stored values may still need it. */
export interface AgedTerm {
  readonly version: number;
  /** Everything made under the term was made between these times. Intervals of consecutive terms overlap. */
  readonly from: Ms;
  readonly until: Ms;
}

/**
 * The terms (oldest first) that may be dropped at `now` if no stored value needs them.
 *
 * @param longestTtl longest TTL of a batch token.
 * @param ignoranceMs time after a change of the key ring during which an isolate may still use the previous one.
 */
export function agedTerms(
  terms: readonly Pick<KeyTerm, "version" | "usedFrom">[],
  now: Ms,
  longestTtl: Seconds,
  ignoranceMs: Ms,
): AgedTerm[] {
  return terms.flatMap(({ version, usedFrom }, at): AgedTerm[] => {
    const next = terms[at + 1];
    if (next === undefined) return [];
    const usedUntil = next.usedFrom + ignoranceMs;
    if (usedUntil + REST_MS + longestTtl * 1000 > now) return [];
    return [{ version, from: at === 0 ? 0 : usedFrom - CLOCKS_MS, until: usedUntil + CLOCKS_MS }];
  });
}

/** Versions of the aged terms whose interval contains `madeAt`: a value made then may be under any of them. */
export function termsAbout(aged: readonly AgedTerm[], madeAt: Ms): number[] {
  return aged.filter(({ from, until }) => from <= madeAt && madeAt <= until).map(({ version }) => version);
}
