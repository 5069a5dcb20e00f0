import type { Ms } from "../../base/clock.ts";

/** Age at which an unanswered call counts as lost: the object that made it is gone. */
export const LOST_CALL_MS: Ms = 10_000;

interface Call<T> {
  readonly values: ReadonlyMap<string, T>;
  readonly since: Ms;
}

/**
 * Values that this isolate has for the shards, each under a key. One call to each shard is in flight at a time, so that
 * an older value never arrives after a newer one. The values of a failed or lost call are queued again.
 */
export class ShardQueue<T> {
  readonly #queued = new Map<number, Map<string, T>>();
  readonly #calls = new Map<number, Call<T>>();
  readonly #merge: (older: T, newer: T) => T;

  /** @param merge merges two values of one key. By default the newer one replaces the older one. */
  constructor(merge: (older: T, newer: T) => T = (_, newer) => newer) {
    this.#merge = merge;
  }

  add(shard: number, key: string, value: T): void {
    const queued = this.#of(shard);
    const older = queued.get(key);
    queued.set(key, older === undefined ? value : this.#merge(older, value));
  }

  cancel(shard: number, key: string): T | undefined {
    const queued = this.#queued.get(shard);
    const value = queued?.get(key);
    queued?.delete(key);
    if (queued?.size === 0) this.#queued.delete(shard);
    return value;
  }

  *queued(): Iterable<T> {
    for (const values of this.#queued.values()) yield* values.values();
  }

  /** True while a call to the shard, or with `key` a call with this value, is in flight. Without `shard`: any call. */
  isInFlight(shard?: number, key?: string): boolean {
    if (shard === undefined) return this.#calls.size > 0;
    return key === undefined ? this.#calls.has(shard) : (this.#calls.get(shard)?.values.has(key) ?? false);
  }

  /** True until the shard has answered a call with this value. */
  isPending(shard: number, key: string): boolean {
    return this.#queued.get(shard)?.has(key) || this.isInFlight(shard, key);
  }

  shards(): [shard: number, size: number][] {
    return [...this.#queued].map(([shard, { size }]) => [shard, size]);
  }

  /** Returns the shards of `shards()` that can be called. Gives up lost calls. */
  ready(now: Ms): [shard: number, size: number][] {
    for (const [shard, call] of this.#calls) if (call.since < now - LOST_CALL_MS) this.#failed(shard, call);
    return this.shards().filter(([shard]) => !this.#calls.has(shard));
  }

  /**
   * Sends at most `most` queued values to a shard, unless a call to it is in flight. Returns the values once the shard
   * has answered, and none when the call was given up before that. Rejects when the call does.
   */
  async send(shard: number, now: Ms, deliver: (values: readonly T[]) => Promise<void>, most?: number) {
    const queued = this.#queued.get(shard);
    if (!queued || this.#calls.has(shard)) return [];
    const call = { values: new Map([...queued].slice(0, most)), since: now };
    for (const key of call.values.keys()) this.cancel(shard, key);
    this.#calls.set(shard, call);
    const values = [...call.values.values()];
    try {
      await deliver(values);
    } catch (error) {
      if (this.#calls.get(shard) === call) this.#failed(shard, call);
      throw error;
    }
    if (this.#calls.get(shard) !== call) return [];
    this.#calls.delete(shard);
    return values;
  }

  #failed(shard: number, { values }: Call<T>): void {
    this.#calls.delete(shard);
    const queued = this.#of(shard);
    for (const [key, older] of values) {
      const newer = queued.get(key);
      queued.set(key, newer === undefined ? older : this.#merge(older, newer));
    }
  }

  #of(shard: number): Map<string, T> {
    const queued = this.#queued.get(shard) ?? new Map<string, T>();
    this.#queued.set(shard, queued);
    return queued;
  }
}
