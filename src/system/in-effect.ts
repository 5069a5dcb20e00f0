import type { Ms } from "../base/clock.ts";
import { CLOCK_STEP_MS } from "../base/clock-steps.ts";
import type { CopyPolicy } from "../base/copies.ts";
import { copyLimits, maxCopyAgeMs } from "./copy-age.ts";
import type { SystemEnv } from "./env.ts";

/**
 * Age limits of an isolate's copy of the installation. Where other isolates have copies too, there is no grace:
 * otherwise a copy could be in use after `untilInEffect`. One process reads its only copy again at each change.
 */
export function installationLimits(env: SystemEnv): CopyPolicy {
  const { maxAgeMs, graceMs } = copyLimits(env);
  return { maxAgeMs, graceMs: env.deployment.graceMs(graceMs) };
}

/**
 * Waits until no isolate uses a copy of the installation or of an entity from before the call. Called after a change
 * that ends tokens is stored, and before it is answered. Takes no time where one process serves everything.
 */
export function untilInEffect(env: SystemEnv): Promise<void> {
  return untilOlderThan(env.deployment.delayElsewhereMs(maxCopyAgeMs(env)));
}

/** Waits until every copy from before the call is too old, also in a single process, where objects keep copies. */
export function untilCopiesAreOld(env: SystemEnv): Promise<void> {
  return untilOlderThan(maxCopyAgeMs(env));
}

async function untilOlderThan(maxAgeMs: Ms): Promise<void> {
  if (maxAgeMs > 0) await scheduler.wait(maxAgeMs + CLOCK_STEP_MS);
}
