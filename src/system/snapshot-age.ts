import { isolates } from "../base/isolates.ts";
import type { CopyLimits } from "./copy-age.ts";
import type { SystemEnv } from "./env.ts";

const DEFAULT_CACHE_SECONDS = 5;
const DEFAULT_GRACE_SECONDS = 60;
/** A request keeps the copy with which it began. After so long (ms) every earlier request has ended. */
const LONGEST_REQUEST_MS = 60_000;

/** Parsed settings: an isolate has one environment, and asks for them several times a request. */
const limits = new WeakMap<SystemEnv, CopyLimits>();

/** How old the copies of an isolate or an object may get: POLICY_CACHE_SECONDS and POLICY_GRACE_SECONDS. */
export function copyLimits(env: SystemEnv): CopyLimits {
  const known = limits.get(env);
  if (known) return known;
  const parsed: CopyLimits = {
    maxAgeMs: secondsAsMs(env.POLICY_CACHE_SECONDS, DEFAULT_CACHE_SECONDS),
    graceMs: secondsAsMs(env.POLICY_GRACE_SECONDS, DEFAULT_GRACE_SECONDS),
  };
  limits.set(env, parsed);
  return parsed;
}

/** How long an isolate or an object may work with what it read last, in ms: POLICY_CACHE_SECONDS. */
export function snapshotMaxAgeMs(env: SystemEnv): number {
  return copyLimits(env).maxAgeMs;
}

function secondsAsMs(setting: string | undefined, otherwise: number): number {
  const seconds = Number(setting ?? otherwise);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : otherwise * 1000;
}

/** How long after a change of the installation, in ms, a request can still act on the state before it. */
export function maxSnapshotAgeMs(env: SystemEnv): number {
  const { maxAgeMs, graceMs } = copyLimits(env);
  return maxAgeMs + graceMs + LONGEST_REQUEST_MS;
}

/** An object that is in use keeps the code of the release before for minutes after a deployment, and may not know of generations. */
const OLD_CODE_MS = 15 * 60_000;

/** How long (ms) before a generation of shards opens it is known: by then all isolates list tokens with it. */
export function listOpeningLeadMs(env: SystemEnv): number {
  return OLD_CODE_MS + maxSnapshotAgeMs(env);
}

/** What an answer says about a change that other isolates learn of later; nothing where one process serves. */
export function stalenessWarnings(env: SystemEnv): string[] {
  const ms = snapshotMaxAgeMs(env);
  if (ms === 0 || !isolates().areMany) return [];
  return [`in effect here from now on, and elsewhere within ${ms / 1000} seconds`];
}
