import type { Env } from "../../env.ts";

const HOUR_MS = 3_600_000;
const DEFAULT_HOURS = 24;
/** A month. */
const MAX_HOURS = 744;
const DEFAULT_KEEP = 14;
const MAX_KEEP = 400;

/** How long (ms) after the begin of a backup into the bucket the next one begins. */
export function backupIntervalMs({ BACKUP_INTERVAL_HOURS: hours }: Pick<Env, "BACKUP_INTERVAL_HOURS">): number {
  return HOUR_MS * within(hours, MAX_HOURS, DEFAULT_HOURS);
}

/** How many backups stay in the bucket. */
export function backupsKept({ BACKUP_KEEP: keep }: Pick<Env, "BACKUP_KEEP">): number {
  return within(keep, MAX_KEEP, DEFAULT_KEEP);
}

function within(text: string | undefined, max: number, otherwise: number): number {
  const value = Number(text);
  return Number.isSafeInteger(value) && value >= 1 && value <= max ? value : otherwise;
}
