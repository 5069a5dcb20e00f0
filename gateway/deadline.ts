/**
 * One thing at a time that must happen soon. What is due later than before is found out when the timer fires: a timer of
 * its own for every request would cost more than the rest of the waiting.
 */
export class Deadline {
  #timer: NodeJS.Timeout | undefined;
  #firesAt = 0;
  #dueAt = 0;
  #milliseconds = 0;
  #onMissed: () => void = () => {};

  /** Calls `onMissed` in so many milliseconds, instead of what was armed before. */
  arm(milliseconds: number, onMissed: () => void): void {
    this.#milliseconds = milliseconds;
    this.#onMissed = onMissed;
    this.extend();
    if (this.#timer !== undefined && this.#firesAt <= this.#dueAt) return;
    clearTimeout(this.#timer);
    this.#start(milliseconds);
  }

  /** Starts the time of what is armed again. */
  extend(): void {
    this.#dueAt = performance.now() + this.#milliseconds;
  }

  /** Nothing is due until the next `arm`. The timer stays: one more that fires for nothing costs less than another for each request. */
  rest(): void {
    this.#dueAt = Number.POSITIVE_INFINITY;
  }

  /** Nothing is due any more. */
  disarm(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #start(milliseconds: number): void {
    this.#firesAt = performance.now() + milliseconds;
    this.#timer = setTimeout(() => this.#fire(), milliseconds);
  }

  #fire(): void {
    this.#timer = undefined;
    const left = this.#dueAt - performance.now();
    if (left === Number.POSITIVE_INFINITY) return;
    // Timers of Node may fire a little early.
    if (left > 1) this.#start(left);
    else this.#onMissed();
  }
}
