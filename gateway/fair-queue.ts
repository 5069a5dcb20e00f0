import type { ShareKey } from "./shares.ts";

/** Those who wait for something, served by turns: one of each client, so that nobody waits behind all requests of another. */
export class FairQueue<Waiter> {
  readonly #byKey = new Map<ShareKey, Waiter[]>();

  /** Adds one at the end of those of its client. */
  add(key: ShareKey, waiter: Waiter): void {
    const waiting = this.#byKey.get(key);
    if (waiting === undefined) this.#byKey.set(key, [waiter]);
    else waiting.push(waiter);
  }

  /** Removes the next one; undefined when nobody waits. */
  next(): Waiter | undefined {
    for (const [key, waiting] of this.#byKey) {
      const waiter = waiting.shift();
      // Its client is served again after all others.
      this.#byKey.delete(key);
      if (waiting.length > 0) this.#byKey.set(key, waiting);
      return waiter;
    }
    return undefined;
  }
}
