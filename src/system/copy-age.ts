import type { Ms } from "../base/clock.ts";
import type { CopyPolicy } from "../base/copies.ts";
import { numberSetting } from "../base/number-settings.ts";
import type { SystemEnv } from "./env.ts";

/** Longest duration of a request. A request keeps the copy with which it began. */
const LONGEST_REQUEST_MS = 60_000;

/** Parsed settings. Cached, as an isolate has one environment and needs them several times per request. */
const limits = new WeakMap<SystemEnv, CopyPolicy>();

/** Age limits of the copies of an isolate or an object: POLICY_CACHE_SECONDS and POLICY_GRACE_SECONDS. */
export function copyLimits(env: SystemEnv): CopyPolicy {
  const known = limits.get(env);
  if (known) return known;
  const parsed: CopyPolicy = {
    maxAgeMs: 1000 * numberSetting("POLICY_CACHE_SECONDS", env.POLICY_CACHE_SECONDS),
    graceMs: 1000 * numberSetting("POLICY_GRACE_SECONDS", env.POLICY_GRACE_SECONDS),
  };
  limits.set(env, parsed);
  return parsed;
}

/** Maximum age of a copy in an isolate or an object: POLICY_CACHE_SECONDS. */
export function maxCopyAgeMs(env: SystemEnv): Ms {
  return copyLimits(env).maxAgeMs;
}

/** The policy of copies that are not used beyond POLICY_CACHE_SECONDS, whether or not their owner answers. */
export function freshCopies(env: SystemEnv): CopyPolicy {
  return { maxAgeMs: maxCopyAgeMs(env), graceMs: 0 };
}

/** Time after a change of the installation during which a request may still act on the previous state. */
export function changeDelayMs(env: SystemEnv): Ms {
  const { maxAgeMs, graceMs } = copyLimits(env);
  return maxAgeMs + graceMs + LONGEST_REQUEST_MS;
}

/** Time after a deployment in which an object in use may run the previous release, without generations. */
const OLD_CODE_MS = 15 * 60_000;

/** Time from the scheduling of a generation of shards to its opening. By the opening all isolates know of it. */
export function listOpeningLeadMs(env: SystemEnv): Ms {
  return OLD_CODE_MS + changeDelayMs(env);
}
