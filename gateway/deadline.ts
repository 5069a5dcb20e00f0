/** How often deadlines are checked, in milliseconds. A timer for each deadline would cost a sixth of a request. */
const CHECK_MS = 50;

const armed = new Set<Deadline>();

/** A timeout that can be set again. */
export class Deadline {
  #dueAt = 0;
  #onMissed: () => void = () => {};

  /** Calls `onMissed` after this time. Replaces the previous deadline. */
  arm(milliseconds: number, onMissed: () => void): void {
    this.#dueAt = performance.now() + milliseconds;
    this.#onMissed = onMissed;
    armed.add(this);
  }

  /** Cancels the deadline. */
  disarm(): void {
    armed.delete(this);
  }

  /** Calls `onMissed` now, if the deadline is set. */
  miss(): void {
    if (armed.delete(this)) this.#onMissed();
  }

  /** Calls `onMissed` if the deadline has passed at `now` (clock of `performance`). */
  look(now: number): void {
    if (now >= this.#dueAt) this.miss();
  }
}

setInterval(() => {
  const now = performance.now();
  for (const deadline of armed) deadline.look(now);
}, CHECK_MS).unref();
