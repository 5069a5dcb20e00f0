import { CLOCK_STEP_MS } from "../../../src/base/clock-steps.ts";

/** How often the wall clock is compared with the monotonic clock (ms). */
const COMPARE_MS = 200;
/** A clock set back by less is tolerated (ms). The rest of `CLOCK_STEP_MS` is left for the detection. */
const MAX_STEP_MS = CLOCK_STEP_MS / 2;
/** A clock that is slowed by NTP, and not set, loses less than this between two comparisons (ms). */
const SLOWED_MS = 0.5;

/**
 * Notices that the wall clock was set back. The Worker has no other clock for the age of its copies, so it would use them for too
 * long, and accept tokens that a watermark has ended elsewhere. It notices that itself (`ClockSteps`) only while it has requests.
 */
export class ClockWatch {
  /** Highest difference of both clocks, less what a slowed clock may have lost since. */
  #highest = Number.NEGATIVE_INFINITY;

  /**
   * @param clockMs wall clock.
   * @param steadyMs monotonic clock.
   * @returns by how much the clock was set back since the previous call (ms); 0 when it was not
   */
  compare(clockMs: number, steadyMs: number): number {
    const difference = clockMs - steadyMs;
    const setBackMs = this.#highest - difference;
    const isSetBack = setBackMs > MAX_STEP_MS;
    this.#highest = isSetBack ? difference : Math.max(difference, this.#highest - SLOWED_MS);
    return isSetBack ? setBackMs : 0;
  }
}

/** Calls `onSetBack` (ms) whenever the clock was set back. @returns a function that stops it */
export function watchClock(onSetBack: (ms: number) => void): () => void {
  const watch = new ClockWatch();
  const timer = setInterval(() => {
    const setBackMs = watch.compare(Date.now(), performance.now());
    if (setBackMs > 0) onSetBack(setBackMs);
  }, COMPARE_MS);
  timer.unref();
  return () => clearInterval(timer);
}
