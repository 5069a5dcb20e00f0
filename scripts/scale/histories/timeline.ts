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
    for (;;) {
      const next = this.#events.reduce<number>((best, _, at) => (this.#isEarlier(at, best) ? at : best), 0);
      const event = this.#events[next];
      if (!event || event.at > end) break;
      this.#events.splice(next, 1);
      this.now = event.at;
      event.happen();
    }
    this.now = end;
  }

  #isEarlier(a: number, b: number): boolean {
    const [one, other] = [this.#events[a], this.#events[b]];
    if (!one || !other) return false;
    return one.at < other.at || (one.at === other.at && one.order < other.order);
  }
}
