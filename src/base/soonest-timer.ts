import { currentTime } from "./clock.ts";

/** A timer that is so late (ms) has ended with the object that set it. */
const LOST_TIMER_MS = 1000;

/** The clock and the timers of the runtime, or of a test. Times in ms. */
export interface TimerSource {
  readonly now: () => number;
  readonly after: (ms: number, work: () => void) => void;
}

const RUNTIME: TimerSource = { now: currentTime, after: (ms, work) => void setTimeout(work, ms) };

/** One timer for several callers that want some work done: of all wishes the soonest counts, and one run serves all. */
export class SoonestTimer {
  readonly #source: TimerSource;
  /** When the work is due (ms); null: it is not wanted. */
  #dueAt: number | null = null;

  constructor(source = RUNTIME) {
    this.#source = source;
  }

  /** The work, which is the same for all, is done in `ms` at the latest. */
  in(ms: number, work: () => void): void {
    const now = this.#source.now();
    const at = now + ms;
    if (this.#dueAt !== null && this.#dueAt >= now - LOST_TIMER_MS && this.#dueAt <= at) return;
    this.#dueAt = at;
    this.#source.after(ms, () => {
      // Another timer that comes earlier was set since.
      if (this.#dueAt !== at) return;
      this.#dueAt = null;
      work();
    });
  }
}
