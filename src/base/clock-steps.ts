import type { Ms } from "./clock.ts";

/**
 * How far the clock may be set back while a copy ages: a copy may be in use for so much longer. The age of a copy is the
 * difference of two readings of one clock, so the clocks of isolates need not agree.
 */
export const CLOCK_STEP_MS: Ms = 1_000;

/**
 * Notices in the readings of a clock that it was set back by more than `CLOCK_STEP_MS`: how old something is, is unknown
 * then. The runtime has no other clock to compare with, since its `performance.now()` is set back too. An isolate
 * without requests takes no readings, and does not notice it.
 */
export class ClockSteps {
  #highest: Ms = Number.NEGATIVE_INFINITY;
  #count = 0;

  /** @returns how often the clock was set back until this reading. */
  countUntil(now: Ms): number {
    if (now < this.#highest - CLOCK_STEP_MS) {
      this.#count++;
      this.#highest = now;
    }
    this.#highest = Math.max(this.#highest, now);
    return this.#count;
  }
}
