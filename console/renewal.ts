import type { Self } from "../client/answers.d.ts";

/** The time for which the token of a session is valid, from the sign-in or its last renewal on. */
export interface Term {
  readonly begins: number;
  /** Null: it never ends. By the clock of this machine, like `begins` (ms). */
  readonly ends: number | null;
  /** False: no renewal moves the end. */
  readonly canRenew: boolean;
}

/** A renewal that adds less than this part of a term has met the maximum TTL: the next one would add even less. */
const WORTHWHILE = 0.1;
/** At most so long before its end a session says that it ends (ms); for short ones a third of the term. */
const ENDING_MS = 300_000;

/** The term of a token that was looked up. The server says how much time is left, so a wrong clock here does no harm. */
export function termOf({ expire_time: end, ttl, renewable = false }: Self, now: number): Term {
  return { begins: now, ends: end === null ? null : now + ttl * 1000, canRenew: renewable };
}

/** The term after a renewal. */
export function renewedTerm(before: Term, self: Self, now: number): Term {
  const term = termOf(self, now);
  if (term.ends === null || before.ends === null) return term;
  const added = term.ends - before.ends;
  return { ...term, canRenew: term.canRenew && added >= WORTHWHILE * (before.ends - before.begins) };
}

/** True from half of the term on: a page in use renews then, well before two thirds of it. */
export function isDue({ begins, ends, canRenew }: Term, now: number): boolean {
  return canRenew && ends !== null && now >= begins + (ends - begins) / 2;
}

/** True when the session soon ends. */
export function isEnding({ begins, ends }: Term, now: number): boolean {
  return ends !== null && now >= ends - Math.min(ENDING_MS, (ends - begins) / 3);
}
