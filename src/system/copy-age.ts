import { isWithin } from "../base/clock.ts";

/** The share of a copy's time after which it is read again while requests go on with it. */
const RENEWAL_SHARE = 0.8;
/** A reading can end with the request that began it; after so long (ms) another one begins. */
const RENEWAL_MS = 500;
/** How long (ms) the system object counts as slow or away since that was last seen: no request waits for it in that time. */
const TROUBLE_MS = 2_000;

/** What an isolate knows about its copy of the installation. Times in ms. */
export interface CopyState {
  /** When the copy was last known to be true. */
  readonly checkedAt: number;
  /** When a reading last began in the background; -Infinity for never. */
  readonly renewalBegan: number;
  /** When a reading last failed or took too long; -Infinity for never. */
  readonly troubleAt: number;
}

/** How old a copy may be, in ms. */
export interface CopyLimits {
  /** POLICY_CACHE_SECONDS. */
  readonly maxAgeMs: number;
  /** POLICY_GRACE_SECONDS: so much older while the system object does not answer. */
  readonly graceMs: number;
}

/**
 * What a request does about its isolate's copy: `use` it, use it while it is read again in the background (`renew`), read it
 * again first but go on with it when there is no answer (`try`), or read it anew whatever comes (`wait`).
 */
export type CopyUse = "use" | "renew" | "try" | "wait";

/** Decides about a copy at `now` (ms). */
export function useOfCopy(copy: CopyState, { maxAgeMs, graceMs }: CopyLimits, now: number): CopyUse {
  const { checkedAt, renewalBegan, troubleAt } = copy;
  if (isWithin(checkedAt, maxAgeMs * RENEWAL_SHARE, now)) return "use";
  const renewed = isWithin(renewalBegan, RENEWAL_MS, now) ? "use" : "renew";
  if (isWithin(checkedAt, maxAgeMs, now)) return renewed;
  if (!isWithin(checkedAt, maxAgeMs + graceMs, now)) return "wait";
  return isWithin(troubleAt, TROUBLE_MS, now) ? renewed : "try";
}
