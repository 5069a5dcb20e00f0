import { formatRfc3339, parseRfc3339 } from "../base/clock.ts";
import { ok, type Result, refuse } from "../base/result.ts";
import type { WatermarkScope, Watermarks } from "../system/watermarks.ts";

/** Reads the time before which something was issued: an RFC 3339 time that has passed, as ms; null for "now". */
export function readPastTime(text: string, field: string, now: number): Result<number | null> {
  if (text === "now") return ok(null);
  const time = parseRfc3339(text);
  return time !== null && time <= now
    ? ok(time)
    : refuse(`${field} must be "now" or a time that has passed, as in 2026-11-22T01:30:00Z`);
}

/** Returns the time before which tokens of the scope are refused, as RFC 3339; null when there is none. */
export function notBefore({ all }: Watermarks, scope: WatermarkScope): string | null {
  const times = all.get(scope)?.map(({ number, createdBefore }) => createdBefore ?? number) ?? [];
  return times.length === 0 ? null : formatRfc3339(Math.max(...times));
}
