import { median } from "../statistics.ts";

/** p99 of look-ups (ms), before something began and while it goes on. */
export interface Beside {
  readonly before: Windows;
  readonly during: Windows;
}

/** The middle and the worst of several windows. */
export interface Windows {
  readonly median: number;
  readonly worst: number;
}

/** Sums up the windows. */
export function beside(before: readonly number[], during: readonly number[]): Beside {
  return { before: windows(before), during: windows(during) };
}

function windows(all: readonly number[]): Windows {
  return { median: median(all), worst: Math.max(0, ...all) };
}

/** Seconds since a moment of `performance.now()`. */
export function secondsSince(began: number): number {
  return (performance.now() - began) / 1000;
}
