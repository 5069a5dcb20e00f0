/** One thing at a time that must happen soon. */
export class Deadline {
  #timer: NodeJS.Timeout | undefined;

  /** Calls `onMissed` in so many milliseconds, instead of what was armed before. */
  arm(milliseconds: number, onMissed: () => void): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(onMissed, milliseconds);
  }

  /** Starts the time of what is armed again. */
  extend(): void {
    this.#timer?.refresh();
  }

  /** Nothing is due any more. */
  disarm(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
