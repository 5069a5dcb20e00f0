/** Age (ms) at which an unanswered call counts as lost: the object that made it is gone. */
export const LOST_CALL_MS = 10_000;

interface Call<T> {
  readonly carried: T;
  readonly since: number;
}

/**
 * The calls of one isolate to the shards that are in flight: one to each shard at a time, so that an older update never
 * arrives after a newer one. The content of a failed or lost call is put back into the queue that made it.
 */
export class ShardCalls<T> {
  readonly #calls = new Map<number, Call<T>>();
  readonly #putBack: (shard: number, carried: T) => void;

  constructor(putBack: (shard: number, carried: T) => void) {
    this.#putBack = putBack;
  }

  /** True when no call is in flight. */
  get isEmpty(): boolean {
    return this.#calls.size === 0;
  }

  /** True while a call to the shard is in flight. */
  has(shard: number): boolean {
    return this.#calls.has(shard);
  }

  /** Returns the content of the call to the shard, while one is in flight. */
  carriedTo(shard: number): T | undefined {
    return this.#calls.get(shard)?.carried;
  }

  /** Gives up lost calls and puts back their content. `now` in ms. */
  giveUpLost(now: number): void {
    for (const [shard, { carried, since }] of this.#calls) if (since < now - LOST_CALL_MS) this.#fail(shard, carried);
  }

  /**
   * Makes a call to a shard without a call in flight. `now` in ms. Returns true when the shard answered, false when the
   * call was given up before that. Rejects when the call does.
   */
  async make(shard: number, carried: T, now: number, call: () => Promise<void>): Promise<boolean> {
    const own = { carried, since: now };
    this.#calls.set(shard, own);
    try {
      await call();
    } catch (error) {
      if (this.#calls.get(shard) === own) this.#fail(shard, carried);
      throw error;
    }
    if (this.#calls.get(shard) !== own) return false;
    this.#calls.delete(shard);
    return true;
  }

  #fail(shard: number, carried: T): void {
    this.#calls.delete(shard);
    this.#putBack(shard, carried);
  }
}
