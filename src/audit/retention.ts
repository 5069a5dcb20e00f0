import type { Ms } from "../base/clock.ts";
import { numberSetting } from "../base/number-settings.ts";
import type { ObjectRow } from "./directory/tables.ts";
import type { AuditEnv } from "./env.ts";

const DAY_MS = 86_400_000;
/** Share of the retention time, and of the retained size, that one object takes: only whole objects are deleted. */
const OBJECT_SHARE = 1 / 8;
/** A full object of the store, in bytes: a tenth of the platform's limit. */
const MAX_OBJECT_BYTES = 1e9;
const MIN_OBJECT_BYTES = 1e6;

type Settings = Pick<AuditEnv, "AUDIT_DAYS" | "AUDIT_MAX_MB" | "deployment">;

/** For how many days records are kept. */
export function keptDays({ AUDIT_DAYS: days }: Pick<Settings, "AUDIT_DAYS">): number {
  return numberSetting("AUDIT_DAYS", days);
}

/** For how long records are kept. */
export function keptMs(settings: Settings): Ms {
  return DAY_MS * keptDays(settings);
}

/** Size of all objects above which the oldest are deleted, in bytes. */
export function keptBytes({ AUDIT_MAX_MB: size }: Settings): number {
  return 1e6 * numberSetting("AUDIT_MAX_MB", size);
}

/** How many times the size that is kept is stored while an archive takes nothing. */
const MAX_UNARCHIVED = 2;

/**
 * Returns the objects whose records are deleted: those that are too old, or beyond the size that is kept. With an
 * archive only archived ones are, unless it takes nothing for so long that the size is exceeded by far.
 * @param stored all objects that have records, the oldest first.
 */
export function expiredObjects<T extends Pick<ObjectRow, "state" | "last_at" | "bytes">>(
  stored: readonly T[],
  settings: Settings,
  hasArchive: boolean,
  now: Ms,
): T[] {
  let bytes = stored.reduce((sum, object) => sum + object.bytes, 0);
  return stored.filter((object) => {
    const { state, last_at: lastAt } = object;
    const isTooMuch = bytes > MAX_UNARCHIVED * keptBytes(settings);
    const isReady = state === "archived" || (state === "closed" && (!hasArchive || isTooMuch));
    const isOld = lastAt + keptMs(settings) <= now || bytes > keptBytes(settings);
    if (isReady && isOld) bytes -= object.bytes;
    return isReady && isOld;
  });
}

/** After this time an object takes nothing more. */
export function openMs(settings: Settings): Ms {
  return Math.max(DAY_MS, keptMs(settings) * OBJECT_SHARE);
}

/** At this size, in bytes, an object takes nothing more. */
export function openBytes(settings: Settings): number {
  const share = (keptBytes(settings) * OBJECT_SHARE) / settings.deployment.auditShards;
  return Math.min(MAX_OBJECT_BYTES, Math.max(MIN_OBJECT_BYTES, share));
}
