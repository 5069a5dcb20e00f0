import type { MetricsHistory } from "../../client/answers.d.ts";
import type { ChartPoint } from "../ui/chart-point.ts";
import { quantileOf } from "./prometheus-text.ts";

type Slot = MetricsHistory["samples"][number];

/** The points of the charts of a day. */
export interface DayPoints {
  /** A rate per second for each slot with a report. */
  rates(countOf: (slot: Slot) => number): readonly ChartPoint[];
  /** The latency (ms) that `share` of the requests of a slot did not exceed. */
  latencies(share: number): readonly ChartPoint[];
  /** A value that only some slots have. */
  counts(of: (slot: Slot) => number | null): readonly ChartPoint[];
}

/** @param now (ms) end of the last slot, which is incomplete */
export function dayPoints({ interval_seconds: interval, bounds, samples }: MetricsHistory, now: number): DayPoints {
  const slots = samples.map((slot) => ({ slot, at: Date.parse(slot.time) }));
  const seconds = (at: number): number => Math.max(60, Math.min(interval, (now - at) / 1000));
  const step = interval * 1000;
  /** Adds a zero at each end of a gap, so that the line falls to zero between reports. */
  const filled = (points: readonly ChartPoint[]): readonly ChartPoint[] =>
    points.flatMap((point, at) => {
      const before = points[at - 1]?.at ?? point.at;
      const gap = point.at - before > step;
      return gap ? [{ at: before + step, value: 0 }, { at: point.at - step, value: 0 }, point] : [point];
    });
  return {
    rates: (countOf) => filled(slots.map(({ slot, at }) => ({ at, value: countOf(slot) / seconds(at) }))),
    latencies: (share) =>
      slots.map(({ slot, at }) => {
        let below = 0;
        const buckets = slot.within.map((count, bucket) => {
          below += count;
          return [bounds[bucket] ?? Number.POSITIVE_INFINITY, below] as const;
        });
        return { at, value: below === 0 ? null : 1000 * quantileOf(buckets, share * below) };
      }),
    counts: (of) =>
      slots.flatMap(({ slot, at }) => {
        const value = of(slot);
        return value === null ? [] : [{ at, value }];
      }),
  };
}
