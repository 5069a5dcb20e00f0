/** How often the clock is compared with time that no one sets (ms). */
const COMPARE_MS = 200;
/** The Worker's copies may be used for a second longer than they say (`src/system/in-effect.ts`). Half of it is for being noticed. */
const MAX_STEP_MS = 500;
/** Clocks that are not set but slowed lose less than this between two comparisons (ms). */
const SLOWED_MS = 0.5;

/**
 * Notices that the clock was set back. The Worker has no other clock to tell the age of its copies by, so it would use
 * them for too long, and accept tokens that a watermark has ended elsewhere.
 */
export class ClockWatch {
  /** Highest difference of both times, less what a slowed clock may have lost since. */
  #highest = Number.NEGATIVE_INFINITY;

  /**
   * @param clockMs time of day.
   * @param steadyMs time that is never set.
   * @returns by how much the clock was set back since the call before (ms); 0 when it was not
   */
  compare(clockMs: number, steadyMs: number): number {
    const difference = clockMs - steadyMs;
    const setBackMs = this.#highest - difference;
    const isSetBack = setBackMs > MAX_STEP_MS;
    this.#highest = isSetBack ? difference : Math.max(difference, this.#highest - SLOWED_MS);
    return isSetBack ? setBackMs : 0;
  }
}

/** Calls `onSetBack` with the time by which the clock was set back (ms), whenever it was. @returns ends that */
export function watchClock(onSetBack: (ms: number) => void): () => void {
  const watch = new ClockWatch();
  const timer = setInterval(() => {
    const setBackMs = watch.compare(Date.now(), performance.now());
    if (setBackMs > 0) onSetBack(setBackMs);
  }, COMPARE_MS);
  timer.unref();
  return () => clearInterval(timer);
}
