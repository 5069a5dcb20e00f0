import type { Env } from "../env.ts";

const DEFAULT_CACHE_SECONDS = 5;
const DEFAULT_GRACE_SECONDS = 60;
/** A request goes on with what its isolate knew when it began; after so long (ms) none of before is left. */
const LONGEST_REQUEST_MS = 60_000;

/** How long an isolate or an object may work with what it read last, in ms: POLICY_CACHE_SECONDS. */
export function snapshotMaxAgeMs(env: Env): number {
  return secondsAsMs(env.POLICY_CACHE_SECONDS, DEFAULT_CACHE_SECONDS);
}

/** How much longer it may while the system object does not answer, in ms: POLICY_GRACE_SECONDS. */
export function snapshotGraceMs(env: Env): number {
  return secondsAsMs(env.POLICY_GRACE_SECONDS, DEFAULT_GRACE_SECONDS);
}

function secondsAsMs(setting: string | undefined, otherwise: number): number {
  const seconds = Number(setting ?? otherwise);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : otherwise * 1000;
}

/** How long after a change of the installation something can still be made by somebody who does not know of it, in ms. */
export function longestIgnoranceMs(env: Env): number {
  return snapshotMaxAgeMs(env) + snapshotGraceMs(env) + LONGEST_REQUEST_MS;
}

/** What an answer says about a change that other isolates learn of later; nothing where one process serves. */
export function stalenessWarnings(env: Env): string[] {
  const ms = snapshotMaxAgeMs(env);
  if (ms === 0 || env.ONE_PROCESS === "true") return [];
  return [`in effect here from now on, and elsewhere within ${ms / 1000} seconds`];
}
