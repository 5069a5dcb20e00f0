import type { Self } from "../client/answers.d.ts";

/** The validity of a session's token since the sign-in or the last renewal, by the clock of this machine (ms). */
export interface Lifetime {
  readonly begins: number;
  /** null: it never ends. */
  readonly ends: number | null;
  /** False when a renewal does not move the end. */
  readonly canRenew: boolean;
}

/** The maximum TTL is reached when a renewal moves the end by less than this part of the time since the last renewal. */
const WORTHWHILE = 0.2;
/** Within this part of a lifetime, a renewal moves the end too little to show that. */
const SOON = 0.1;
/** A session announces its end this long before (ms), or a third of the lifetime before if that is shorter. */
const ENDING_MS = 300_000;

/** The lifetime of a token by its remaining seconds, so that a wrong clock of this machine does no harm. */
export function lifetimeOf({ expire_time: end, ttl, renewable = false }: Self, now: number): Lifetime {
  return { begins: now, ends: end === null ? null : now + ttl * 1000, canRenew: renewable };
}

/**
 * The lifetime after a renewal. `canRenew` is false once the maximum TTL bounds the end. A renewal soon after the last one
 * can't show that, so it leaves `canRenew` and `begins` as they are, and a later renewal is compared over the whole time.
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

/** True in the second half of the lifetime. A page in use then renews the token, well before two thirds of it. */
export function isDue({ begins, ends, canRenew }: Lifetime, now: number): boolean {
  return canRenew && ends !== null && now >= begins + (ends - begins) / 2;
}

/** True when the session soon ends. */
export function isEnding({ begins, ends }: Lifetime, now: number): boolean {
  return ends !== null && now >= ends - Math.min(ENDING_MS, (ends - begins) / 3);
}
