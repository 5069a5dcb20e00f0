import type { Seconds } from "./clock.ts";
import { err, ok, type Result } from "./result.ts";

/** The longest duration that is accepted: what a 64-bit count of nanoseconds holds. */
export const MAX_DURATION_SECONDS: Seconds = 9_223_372_036;

const UNIT_SECONDS: Readonly<Record<string, number>> = {
  ns: 1e-9,
  us: 1e-6,
  µs: 1e-6,
  ms: 1e-3,
  s: 1,
  m: 60,
  h: 3600,
};

const PLAIN_SECONDS = /^[+-]?\d{1,12}$/;
const WHOLE_DAYS = /^(\d{1,6})d$/;
const PART = /(\d{1,12}(?:\.\d{0,9})?|\.\d{1,9})(ns|us|µs|ms|s|m|h)/y;
const MAX_TEXT = 64;

/**
 * Reads a duration as clients write it: seconds (`"90"`), a Go duration (`"1h30m"`, `"500ms"`) or whole days (`"2d"`).
 * Returns whole seconds, possibly negative. A part of a second is rounded away from zero, so that a short duration
 * never turns into 0, which means "none" or "no limit" everywhere. The error is a phrase without the text itself.
 */
export function parseDuration(text: string): Result<Seconds, string> {
  if (text.length > MAX_TEXT) return err("is not a duration");
  if (text === "") return ok(0);
  if (PLAIN_SECONDS.test(text)) return bounded(Number(text));
  const days = WHOLE_DAYS.exec(text);
  if (days) return bounded(Number(days[1]) * 86_400);
  return parseGoDuration(text);
}

function parseGoDuration(text: string): Result<Seconds, string> {
  const negative = text.startsWith("-");
  const digits = negative || text.startsWith("+") ? text.slice(1) : text;
  let seconds = 0;
  PART.lastIndex = 0;
  while (PART.lastIndex < digits.length) {
    const part = PART.exec(digits);
    if (!part) return err("is not a duration");
    seconds += Number(part[1]) * (UNIT_SECONDS[part[2] ?? ""] ?? 0);
  }
  if (digits === "") return err("is not a duration");
  // Sums of decimal fractions carry an error far below a nanosecond; without this 1.1s+0.9s would round up to 3.
  const whole = Math.ceil(Number(seconds.toFixed(9)));
  return bounded(negative ? -whole : whole);
}

function bounded(seconds: Seconds): Result<Seconds, string> {
  if (Math.abs(seconds) > MAX_DURATION_SECONDS) return err("is out of range");
  return ok(seconds === 0 ? 0 : seconds);
}

/** Prints whole seconds as clients of the interface expect it in warnings: `768h`, `1h30m`, `1m30s`, `0s`. */
export function formatDuration(seconds: Seconds): string {
  if (seconds === 0) return "0s";
  const total = Math.abs(seconds);
  const hours = Math.floor(total / 3600);
  const minutes = Math.floor((total % 3600) / 60);
  const rest = total % 60;
  const text = `${hours ? `${hours}h` : ""}${minutes ? `${minutes}m` : ""}${rest ? `${rest}s` : ""}`;
  return seconds < 0 ? `-${text}` : text;
}
