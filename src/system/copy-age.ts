import { isWithin } from "../base/clock.ts";
import { RENEWAL_SHARE } from "../base/isolate-copy.ts";
import { isolates } from "../base/isolates.ts";
import type { SystemEnv } from "./env.ts";

/** A reading can end with the request that began it; after so long (ms) another one begins. */
const RENEWAL_MS = 500;
/** How long (ms) the system object counts as slow or away since that was last seen: no request waits for it in that time. */
const TROUBLE_MS = 2_000;

/** How old a copy may be, in ms. */
interface CopyLimits {
  /** POLICY_CACHE_SECONDS. */
  readonly maxAgeMs: number;
  /** POLICY_GRACE_SECONDS: so much older while its object does not answer. */
  readonly graceMs: number;
}

/** A copy that requests go on with. */
export interface UsedCopy extends CopyLimits {
  /** When it was last known to be true (ms). */
  readonly checkedAt: number;
}

/** How the object that a copy is of answered lately. Times in ms. */
export interface AnswersOfSource {
  /** When a reading last began in the background; -Infinity for never. */
  readonly renewalBegan: number;
  /** When a reading last failed or took too long; -Infinity for never, or when it has answered since. */
  readonly troubleAt: number;
}

/**
 * What a request does about its isolate's copy: `use` it, use it while it is read again in the background (`renew`), read it
 * again first but go on with it when there is no answer (`try`), or read it anew whatever comes (`wait`).
 */
export type CopyUse = "use" | "renew" | "try" | "wait";

/** Decides about a copy at `now` (ms). */
export function useOfCopy(
  { checkedAt, maxAgeMs, graceMs }: UsedCopy,
  { renewalBegan, troubleAt }: AnswersOfSource,
  now: number,
): CopyUse {
  if (isWithin(checkedAt, maxAgeMs * RENEWAL_SHARE, now)) return "use";
  const renewed = isWithin(renewalBegan, RENEWAL_MS, now) ? "use" : "renew";
  if (isWithin(checkedAt, maxAgeMs, now)) return renewed;
  if (!isWithin(checkedAt, maxAgeMs + graceMs, now)) return "wait";
  return isWithin(troubleAt, TROUBLE_MS, now) ? renewed : "try";
}

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
