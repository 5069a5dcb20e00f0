import { isWithin } from "../base/clock.ts";
import { RENEWAL_SHARE } from "../base/isolate-copy.ts";
import { isolates } from "../base/isolates.ts";
import type { SystemEnv } from "./env.ts";

/** Time (ms) after which another background reading begins: the last one may have ended with its request. */
const RENEWAL_MS = 500;
/** Time (ms) after a failed or slow reading during which no request waits for the System object. */
const TROUBLE_MS = 2_000;

/** Age limits of a copy, in ms. */
interface CopyLimits {
  /** POLICY_CACHE_SECONDS. */
  readonly maxAgeMs: number;
  /** POLICY_GRACE_SECONDS: additional age while its object does not answer. */
  readonly graceMs: number;
}

/** The age of a copy, with its limits. */
export interface UsedCopy extends CopyLimits {
  /** When it was last known to be current (ms). */
  readonly checkedAt: number;
}

/** Recent readings of the object that a copy comes from. Times in ms. */
export interface AnswersOfSource {
  /** When a background reading last began; -Infinity for never. */
  readonly renewalBegan: number;
  /** When a reading last failed or took too long; -Infinity for never, or when the object has answered since. */
  readonly troubleAt: number;
}

/**
 * How a request uses its isolate's copy: `use` it; use it and read it again in the background (`renew`); read it again,
 * but use it if no answer comes in time (`try`); or read it again and fail without an answer (`wait`).
 */
export type CopyUse = "use" | "renew" | "try" | "wait";

/** Decides how a request at `now` (ms) uses a copy. */
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
/** Longest duration of a request (ms). A request keeps the copy with which it began. */
const LONGEST_REQUEST_MS = 60_000;

/** Parsed settings. Cached, as an isolate has one environment and needs them several times per request. */
const limits = new WeakMap<SystemEnv, CopyLimits>();

/** Age limits of the copies of an isolate or an object: POLICY_CACHE_SECONDS and POLICY_GRACE_SECONDS. */
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

/** Maximum age of a copy in an isolate or an object, in ms: POLICY_CACHE_SECONDS. */
export function maxCopyAgeMs(env: SystemEnv): number {
  return copyLimits(env).maxAgeMs;
}

function secondsAsMs(setting: string | undefined, otherwise: number): number {
  const seconds = Number(setting ?? otherwise);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : otherwise * 1000;
}

/** Time (ms) after a change of the installation during which a request may still act on the previous state. */
export function changeDelayMs(env: SystemEnv): number {
  const { maxAgeMs, graceMs } = copyLimits(env);
  return maxAgeMs + graceMs + LONGEST_REQUEST_MS;
}

/** Time (ms) after a deployment in which an object in use may run the previous release, without generations. */
const OLD_CODE_MS = 15 * 60_000;

/** Time (ms) from the scheduling of a generation of shards to its opening. By the opening all isolates know of it. */
export function listOpeningLeadMs(env: SystemEnv): number {
  return OLD_CODE_MS + changeDelayMs(env);
}

/** Warnings in the answer to a change that other isolates see later; none where one process serves all requests. */
export function stalenessWarnings(env: SystemEnv): string[] {
  const ms = maxCopyAgeMs(env);
  if (ms === 0 || !isolates().areMany) return [];
  return [`in effect here from now on, and elsewhere within ${ms / 1000} seconds`];
}
