import type { Self } from "../client/answers.d.ts";

/** The time for which the token of a session is valid, from the sign-in or its last renewal on. */
export interface Lifetime {
  readonly begins: number;
  /** Null: it never ends. By the clock of this machine, like `begins` (ms). */
  readonly ends: number | null;
  /** False: no renewal moves the end. */
  readonly canRenew: boolean;
}

/** A renewal that moves the end by less than this part of the time that has passed has met the maximum TTL. */
const WORTHWHILE = 0.2;
/** Part of a lifetime within which a renewal moves the end too little to tell. */
const SOON = 0.1;
/** At most so long before its end a session says that it ends (ms); for short ones a third of the lifetime. */
const ENDING_MS = 300_000;

/** The lifetime of a token that was looked up. The server says how much time is left, so a wrong clock here does no harm. */
export function lifetimeOf({ expire_time: end, ttl, renewable = false }: Self, now: number): Lifetime {
  return { begins: now, ends: end === null ? null : now + ttl * 1000, canRenew: renewable };
}

/**
 * The lifetime after a renewal. `canRenew` is false once the maximum TTL bounds the end. A renewal soon after the last one
 * does not show that: then `canRenew` stays, and so does `begins`, so that a later renewal is compared with the whole
 * time.
 */
export function renewedLifetime(before: Lifetime, self: Self, now: number): Lifetime {
  const lifetime = lifetimeOf(self, now);
  if (lifetime.ends === null || before.ends === null) return lifetime;
  const passed = now - before.begins;
  if (lifetime.ends - before.ends >= WORTHWHILE * passed) return lifetime;
  const isSoon = passed < SOON * (before.ends - before.begins);
  return {
    ...lifetime,
    begins: isSoon ? before.begins : now,
    canRenew: isSoon && before.canRenew && lifetime.canRenew,
  };
}

/** True from half of the lifetime on: a page in use renews then, well before two thirds of it. */
export function isDue({ begins, ends, canRenew }: Lifetime, now: number): boolean {
  return canRenew && ends !== null && now >= begins + (ends - begins) / 2;
}

/** True when the session soon ends. */
export function isEnding({ begins, ends }: Lifetime, now: number): boolean {
  return ends !== null && now >= ends - Math.min(ENDING_MS, (ends - begins) / 3);
}
