/** How often deadlines are looked at, in milliseconds. A timer of its own for each would cost a sixth of a request. */
const LOOK_MS = 50;

const armed = new Set<Deadline>();

/** One thing at a time that must happen soon. */
export class Deadline {
  #dueAt = 0;
  #onMissed: () => void = () => {};

  /** Calls `onMissed` in so many milliseconds, in place of the previous deadline. */
  arm(milliseconds: number, onMissed: () => void): void {
    this.#dueAt = performance.now() + milliseconds;
    this.#onMissed = onMissed;
    armed.add(this);
  }

  /** Nothing is due any more. */
  disarm(): void {
    armed.delete(this);
  }

  /** Calls `onMissed` now, when something is due. */
  miss(): void {
    if (armed.delete(this)) this.#onMissed();
  }

  /** @param now milliseconds on the clock of `performance` */
  look(now: number): void {
    if (now >= this.#dueAt) this.miss();
  }
}

setInterval(() => {
  const now = performance.now();
  for (const deadline of armed) deadline.look(now);
}, LOOK_MS).unref();
