import type { Env } from "../env.ts";

const DEFAULT_CACHE_SECONDS = 5;

/** How long an isolate or an object may work with what it read last, in ms: POLICY_CACHE_SECONDS. */
export function snapshotMaxAgeMs(env: Env): number {
  const seconds = Number(env.POLICY_CACHE_SECONDS ?? DEFAULT_CACHE_SECONDS);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : DEFAULT_CACHE_SECONDS * 1000;
}
