export const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** How far the page looks ahead. */
export type Range = "day" | "tomorrow" | "week" | "month";

export const RANGES: readonly (readonly [Range, string])[] = [
  ["day", "24 hours"],
  ["tomorrow", "Tomorrow"],
  ["week", "7 days"],
  ["month", "30 days"],
];

const SHAPES: Readonly<Record<Range, { readonly bars: number; readonly step: number; readonly barText: string }>> = {
  day: { bars: 24, step: HOUR, barText: "A bar is one hour" },
  tomorrow: { bars: 24, step: HOUR, barText: "A bar is one hour" },
  week: { bars: 28, step: 6 * HOUR, barText: "A bar is 6 hours" },
  month: { bars: 30, step: DAY, barText: "A bar is one day" },
};

/** A period (ms) and its bars. */
export interface Span {
  readonly from: number;
  readonly until: number;
  readonly bars: number;
  /** Length of a bar (ms). */
  readonly step: number;
  readonly barText: string;
}

export const rangeOf = (text: string | null): Range => RANGES.find(([range]) => range === text)?.[0] ?? "day";

/**
 * The span of a range at `now` (ms). It begins at a full hour, like the counters of the server; "tomorrow" is in the local time
 * zone.
 */
export function spanOf(range: Range, now: number): Span {
  const start = range === "tomorrow" ? midnightAfter(now) : now;
  const from = Math.floor(start / HOUR) * HOUR;
  const shape = SHAPES[range];
  return { ...shape, from, until: from + shape.bars * shape.step };
}

function midnightAfter(now: number): number {
  const day = new Date(now);
  return new Date(day.getFullYear(), day.getMonth(), day.getDate() + 1).getTime();
}

/** The index of the bar that contains a time (ms); -1 when none does. */
export function barAt({ from, until, step }: Span, time: number): number {
  return time >= from && time < until ? Math.floor((time - from) / step) : -1;
}

/** A time (ms) as the API takes it. */
export const iso = (time: number): string => new Date(time).toISOString();

/** The filter for ends from `from` up to, but not including, `until` (ms). Both bounds of the API are exclusive. */
export const filterOfSpan = (from: number, until: number): Readonly<Record<string, string>> => ({
  ends_after: iso(from - 1),
  ends_before: iso(until),
});
