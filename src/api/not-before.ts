import { formatRfc3339, parseRfc3339 } from "../base/clock.ts";
import { ok, type Result, refuse } from "../base/result.ts";
import type { WatermarkScope, Watermarks } from "../system/watermarks.ts";

/** Before when a token must have been created to be ended (ms); null: all that were made before now. */
type CreatedBefore = number | null;

/** Reads `not_before`, see `readPastTime`. */
export function readNotBefore(text: string, now: number): Result<CreatedBefore> {
  return readPastTime(text, "not_before", now);
}

/**
 * Reads before when something was issued: "now", or an RFC 3339 time that has passed.
 *
 * @param field its name, for the error. @param now ms.
 */
export function readPastTime(text: string, field: string, now: number): Result<CreatedBefore> {
  if (text === "now") return ok(null);
  const time = parseRfc3339(text);
  return time !== null && time <= now
    ? ok(time)
    : refuse(`${field} must be "now" or a time that has passed, as in 2026-11-22T01:30:00Z`);
}

/** Tokens of the scope from before this time are not accepted; null when there is no such time. RFC 3339. */
export function notBefore({ all }: Watermarks, scope: WatermarkScope): string | null {
  const times = all.get(scope)?.map(({ number, createdBefore }) => createdBefore ?? number) ?? [];
  return times.length === 0 ? null : formatRfc3339(Math.max(...times));
}
