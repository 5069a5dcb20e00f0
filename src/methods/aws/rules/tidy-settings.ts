import { ok, type Result, refuse } from "../../../base/result.ts";
import { fieldSchema, flag, onlySent, sent, sentDuration, type Values } from "../../../wire/fields.ts";
import { view } from "../../../wire/view.ts";

/** The lists of entries with an expiry: logins of instances, and denied role tags. */
export type TidyList = "access" | "deny";

export interface TidySettings {
  /** Seconds from the end of an entry to its removal. */
  readonly safetyBuffer: number;
  readonly disablePeriodicTidy: boolean;
}

export const DEFAULT_SAFETY_BUFFER = 72 * 3600;

export const DEFAULT_TIDY: TidySettings = { safetyBuffer: DEFAULT_SAFETY_BUFFER, disablePeriodicTidy: false };

export const TIDY_FIELDS = fieldSchema({
  safety_buffer: sentDuration().describe("Time from the end of an entry to its removal"),
  disable_periodic_tidy: sent(flag(false)).describe("True: entries are only removed on demand"),
});

/** Checks a write of tidy settings. Returns the changes, or a 400. */
export function readTidyChange(fields: Values<typeof TIDY_FIELDS>): Result<Partial<TidySettings>> {
  const buffer = readSafetyBuffer(fields.safety_buffer);
  if (!buffer.ok) return buffer;
  return ok(onlySent({ safetyBuffer: buffer.value, disablePeriodicTidy: fields.disable_periodic_tidy }));
}

/** A safety buffer in seconds, as sent; a negative one is a 400. */
export function readSafetyBuffer(sentBuffer: number | undefined): Result<number | undefined> {
  if (sentBuffer === undefined || sentBuffer >= 0) return ok(sentBuffer);
  return refuse('error converting input for field "safety_buffer": cannot provide negative value');
}

export const TIDY_VIEW = view<TidySettings>({
  safety_buffer: ["integer", (settings) => settings.safetyBuffer],
  disable_periodic_tidy: ["boolean", (settings) => settings.disablePeriodicTidy],
});
