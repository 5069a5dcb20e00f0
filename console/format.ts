const COUNT = new Intl.NumberFormat("en");
const EXACT = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "long" });

/** Formats for small spaces. */
const DAY_PARTS = { month: "short", day: "numeric" } as const;
const CLOCK_PARTS = { hour: "numeric", minute: "2-digit" } as const;
const HOUR = new Intl.DateTimeFormat(undefined, { ...DAY_PARTS, ...CLOCK_PARTS });
const DAY = new Intl.DateTimeFormat(undefined, DAY_PARTS);
const CLOCK = new Intl.DateTimeFormat(undefined, CLOCK_PARTS);

const UNITS = [
  ["year", 31_536_000],
  ["month", 2_592_000],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
  ["second", 1],
] as const;
const SHORT = { year: "y", month: "mo", day: "d", hour: "h", minute: "m", second: "s" } as const;

export const count = (value: number): string => COUNT.format(value);

/** `1 token`, `2,000 tokens`. */
export const counted = (value: number, noun: string, plural = `${noun}s`): string =>
  `${count(value)} ${value === 1 ? noun : plural}`;

/** `2,000 tokens`, or `about 2,000 tokens` when the number is an estimate. */
export const approximate = (value: number, noun: string, isEstimate = false): string =>
  `${isEstimate ? "about " : ""}${counted(value, noun)}`;

/** A number for a small space: `12.4k`, `1.2M`. */
export function compact(value: number): string {
  if (value < 10_000) return count(value);
  if (value < 1_000_000) return `${(value / 1000).toFixed(value < 100_000 ? 1 : 0)}k`;
  return `${(value / 1_000_000).toFixed(1)}M`;
}

/** A size: `512 B`, `1.2 KiB`. */
export function bytes(value: number): string {
  if (value < 1024) return `${count(value)} B`;
  if (value < 1024 ** 2) return `${(value / 1024).toFixed(1)} KiB`;
  return `${(value / 1024 ** 2).toFixed(1)} MiB`;
}

/** Seconds as their two largest units: `4d 3h`. */
export function duration(seconds: number): string {
  if (seconds <= 0) return "0s";
  const at = UNITS.findIndex(([, size]) => seconds >= size);
  const [name, size] = UNITS[at] ?? UNITS[5];
  const whole = Math.floor(seconds / size);
  const [nextName, nextSize] = UNITS[at + 1] ?? [null, 1];
  const rest = nextName === null ? 0 : Math.floor((seconds - whole * size) / nextSize);
  return `${whole}${SHORT[name]}${nextName !== null && rest > 0 ? ` ${rest}${SHORT[nextName]}` : ""}`;
}

/** `in 3d 4h`, `2h ago`. */
export function relative(time: string, now: number): string {
  const seconds = Math.round((Date.parse(time) - now) / 1000);
  if (Math.abs(seconds) < 5) return "now";
  return seconds > 0 ? `in ${duration(seconds)}` : `${duration(-seconds)} ago`;
}

/** `2h ago` for a time in the past, which never shows as the future when the server's clock is ahead. */
export const since = (time: string, now: number): string => relative(time, Math.max(now, Date.parse(time)));

/** A whole time: `Nov 29, 2026, 3:00:00 PM UTC`. */
export const exact = (time: string): string => EXACT.format(new Date(time));

/** An hour for a small space: `Nov 29, 3:00 PM`. */
export const hourText = (time: string): string => HOUR.format(new Date(time));

/** Labels of a chart, of a time in ms: `Nov 29`, `3:00 PM`. */
export const dayText = (at: number): string => DAY.format(at);
export const clockText = (at: number): string => CLOCK.format(at);

/** The end of an accessor: accessors of one tree begin alike. */
export const shortAccessor = (accessor: string): string =>
  accessor.length > 14 ? `…${accessor.slice(-10)}` : accessor;

/** The value of a datetime-local input for a time. */
export function localTime(value: string | undefined): string {
  const ms = Date.parse(value ?? "");
  if (Number.isNaN(ms)) return "";
  const here = new Date(ms - new Date(ms).getTimezoneOffset() * 60_000);
  return here.toISOString().slice(0, 16);
}

/** The time of a datetime-local input as RFC 3339 in UTC, which the API takes; "" for none. */
export function queryTime(local: string): string {
  const ms = Date.parse(local);
  return Number.isNaN(ms) ? "" : new Date(ms).toISOString();
}

/** The value of a form for an incomplete date and time, which is neither a time nor empty. */
export const UNFINISHED = "unfinished";
export const WHOLE_TIME = "A date and a time, both whole; or empty both";

/** The name of the local time zone: `UTC`, `GMT+1`. */
export const ZONE =
  new Intl.DateTimeFormat("en", { timeZoneName: "short" }).formatToParts().find(({ type }) => type === "timeZoneName")
    ?.value ?? "local time";

/** A text that begins with a capital letter. */
export const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
