/** Things that happen one after the other, in the order of their times. */
export class Timeline {
  /** ms since the beginning. */
  now = 0;
  #order = 0;
  readonly #events: { readonly at: number; readonly order: number; readonly happen: () => void }[] = [];

  /** Schedules `happen` for `ms` from now. */
  after(ms: number, happen: () => void): void {
    this.#events.push({ at: this.now + ms, order: this.#order++, happen });
  }

  /** Runs everything that is due until `end` (ms), in order. */
  run(end: number): void {
    for (let event = this.#take(end); event; event = this.#take(end)) event();
    this.now = end;
  }

  /** The same for things that wait for promises: what follows from one has happened before the next. */
  async runSettled(end: number): Promise<void> {
    for (let event = this.#take(end); event; event = this.#take(end)) {
      event();
      await new Promise((resolve) => setImmediate(resolve));
    }
    this.now = end;
  }

  /** The next thing that is due until `end` (ms), with its time; null: nothing more is. */
  #take(end: number): (() => void) | null {
    const next = this.#events.reduce<number>((best, _, at) => (this.#isEarlier(at, best) ? at : best), 0);
    const event = this.#events[next];
    if (!event || event.at > end) return null;
    this.#events.splice(next, 1);
    this.now = event.at;
    return event.happen;
  }

  #isEarlier(a: number, b: number): boolean {
    const [one, other] = [this.#events[a], this.#events[b]];
    if (!one || !other) return false;
    return one.at < other.at || (one.at === other.at && one.order < other.order);
  }
}
