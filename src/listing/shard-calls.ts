/** A call that was not answered for so long (ms) never will be: the object that made it is gone. */
export const LOST_CALL_MS = 10_000;

interface Call<T> {
  readonly carried: T;
  readonly since: number;
}

/**
 * The calls of one isolate that shards have not answered: one to a shard at a time, so that nothing older overtakes. What a call
 * that failed or was lost carried is put back by the queue that made it.
 */
export class ShardCalls<T> {
  readonly #calls = new Map<number, Call<T>>();
  readonly #putBack: (shard: number, carried: T) => void;

  constructor(putBack: (shard: number, carried: T) => void) {
    this.#putBack = putBack;
  }

  /** True when no shard is being called. */
  get isEmpty(): boolean {
    return this.#calls.size === 0;
  }

  /** True while the shard is being called. */
  has(shard: number): boolean {
    return this.#calls.has(shard);
  }

  /** What the call to the shard carries, if it is being called. */
  carriedTo(shard: number): T | undefined {
    return this.#calls.get(shard)?.carried;
  }

  /** Gives up the calls that were lost. `now` in ms. */
  giveUpLost(now: number): void {
    for (const [shard, { carried, since }] of this.#calls) if (since < now - LOST_CALL_MS) this.#fail(shard, carried);
  }

  /**
   * Makes a call to a shard that is not being called. `now` in ms. True when the shard answered, false when the call had been
   * given up by then. Rejects as the call does.
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
