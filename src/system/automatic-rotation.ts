import type { Ms, Seconds } from "../base/clock.ts";
import { formatDuration } from "../base/duration.ts";
import { err, ok, type Result } from "../base/result.ts";

/** Settings of automatic key rotation: they decide when a new term of keys begins. */
export interface RotationSettings {
  readonly enabled: boolean;
  /** Maximum number of encryptions under the data key of one term. */
  readonly maxOperations: number;
  /** Maximum age of a term; 0: no limit. */
  readonly interval: Seconds;
}

/** A change of the settings; undefined keeps what is there. */
export type RotationChange = { readonly [K in keyof RotationSettings]: RotationSettings[K] | undefined };

/** The inputs of the rotation rule that the System object stores. */
export interface KeyUse {
  readonly settings: RotationSettings;
  /** Encryptions under the data key of the term. */
  readonly encryptions: number;
}

const MIN_OPERATIONS = 1_000_000;
/** 90 % of the 2^32 values that one AES-GCM key may encrypt with random nonces. */
const MAX_OPERATIONS = 3_865_470_566;
const MIN_INTERVAL_SECONDS = 24 * 3600;

/** The defaults, as in the reference. */
export const DEFAULT_ROTATION: RotationSettings = { enabled: true, maxOperations: MAX_OPERATIONS, interval: 0 };

/** Applies a change to `settings`, or says why it is refused. Bounds and messages: reference, `sys/rotate/config`. */
export function changeRotation(settings: RotationSettings, change: RotationChange): Result<RotationSettings, string> {
  const changed = {
    enabled: change.enabled ?? settings.enabled,
    maxOperations: change.maxOperations ?? settings.maxOperations,
    interval: change.interval ?? settings.interval,
  };
  if (changed.interval !== 0 && changed.interval < MIN_INTERVAL_SECONDS) {
    return err(`interval must be greater or equal to ${formatDuration(MIN_INTERVAL_SECONDS)}`);
  }
  if (changed.maxOperations < MIN_OPERATIONS || changed.maxOperations > MAX_OPERATIONS) {
    return err(`max_operations must be in the range [${MIN_OPERATIONS},${MAX_OPERATIONS}]`);
  }
  return ok(changed);
}

/** True when a new term is to begin at `now`. @param beganAt when the current term began. */
export function isRotationDue({ settings, encryptions }: KeyUse, beganAt: Ms, now: Ms): boolean {
  if (!settings.enabled) return false;
  if (encryptions >= settings.maxOperations) return true;
  return settings.interval > 0 && now - beganAt >= settings.interval * 1000;
}
