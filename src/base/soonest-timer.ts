import { currentTime } from "./clock.ts";

/** A timer that is overdue by this time (ms) was lost with the object that set it. */
const LOST_TIMER_MS = 1000;

/** The clock and the timers of the runtime, or of a test. Times in ms. */
export interface TimerSource {
  readonly now: () => number;
  readonly after: (ms: number, work: () => void) => void;
}

const RUNTIME: TimerSource = { now: currentTime, after: (ms, work) => void setTimeout(work, ms) };

/** One timer for several callers that schedule the same work. It runs once, at the earliest time that was requested. */
export class SoonestTimer {
  readonly #source: TimerSource;
  /** When the work is due (ms); null: it is not scheduled. */
  #dueAt: number | null = null;

  constructor(source = RUNTIME) {
    this.#source = source;
  }

  /** Schedules `work` in `ms` at the latest. All callers pass the same work: only one of them has it run. */
  in(ms: number, work: () => void): void {
    const now = this.#source.now();
    const at = now + ms;
    if (this.#dueAt !== null && this.#dueAt >= now - LOST_TIMER_MS && this.#dueAt <= at) return;
    this.#dueAt = at;
    this.#source.after(ms, () => {
      // A timer with an earlier time replaced this one.
      if (this.#dueAt !== at) return;
      this.#dueAt = null;
      work();
    });
  }
}
