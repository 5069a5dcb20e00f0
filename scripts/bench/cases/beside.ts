import { median } from "../statistics.ts";

/** p99 of look-ups (ms): before something began, and while it goes on the middle and the worst of several windows. */
export interface Beside {
  readonly before: number;
  readonly during: number;
  readonly worst: number;
}

/** Sums up the windows. */
export function beside(before: number, during: readonly number[]): Beside {
  return { before, during: median(during), worst: Math.max(0, ...during) };
}

/** Seconds since a moment of `performance.now()`. */
export function secondsSince(began: number): number {
  return (performance.now() - began) / 1000;
}
