import { accessorShardNumber } from "./accessor-shard-number.ts";

/** A call that was not answered for so long (ms) never will be: the object that made it is gone. */
const LOST_CALL_MS = 10_000;

/** Takes accessors off the list of one shard. Rejects when they may still be on it. */
export type Remove = (shard: number, accessors: readonly string[]) => Promise<void>;

interface Call {
  readonly accessors: ReadonlySet<string>;
  readonly since: number;
}

/** What sweeps of many trees take off the lists: one call to a shard for all that has come together. */
export class RemovalQueue {
  readonly #waiting = new Map<number, Set<string>>();
  readonly #calls = new Map<number, Call>();

  /** These are to go. */
  add(accessors: readonly string[]): void {
    for (const accessor of accessors) this.#of(accessorShardNumber(accessor)).add(accessor);
  }

  /** True when the shards have heard that all of these are gone. */
  areGone(accessors: readonly string[]): boolean {
    return !accessors.some((accessor) => {
      const shard = accessorShardNumber(accessor);
      return this.#waiting.get(shard)?.has(accessor) || this.#calls.get(shard)?.accessors.has(accessor);
    });
  }

  /**
   * Some of the shards that have something to hear and are not being called: with no more than `most` accessors together, which is
   * what one call takes at most. `now` in ms.
   */
  next(most: number, now: number): number[] {
    for (const [shard, { accessors, since }] of this.#calls) {
      if (since < now - LOST_CALL_MS) this.#failed(shard, accessors);
    }
    const shards: number[] = [];
    let sum = 0;
    for (const [shard, { size }] of this.#waiting) {
      if (this.#calls.has(shard) || (sum > 0 && sum + size > most)) continue;
      shards.push(shard);
      sum += size;
    }
    return shards;
  }

  /** Calls a shard with what it has to hear, of at most so many accessors. */
  async send(shard: number, most: number, remove: Remove, now: number): Promise<void> {
    const waiting = this.#waiting.get(shard);
    if (!waiting || this.#calls.has(shard)) return;
    const accessors = new Set([...waiting].slice(0, most));
    const call = { accessors, since: now };
    for (const accessor of accessors) waiting.delete(accessor);
    if (waiting.size === 0) this.#waiting.delete(shard);
    this.#calls.set(shard, call);
    try {
      await remove(shard, [...accessors]);
      if (this.#calls.get(shard) === call) this.#calls.delete(shard);
    } catch (error) {
      if (this.#calls.get(shard) === call) this.#failed(shard, accessors);
      throw error;
    }
  }

  #failed(shard: number, accessors: ReadonlySet<string>): void {
    this.#calls.delete(shard);
    const waiting = this.#of(shard);
    for (const accessor of accessors) waiting.add(accessor);
  }

  #of(shard: number): Set<string> {
    const known = this.#waiting.get(shard) ?? new Set<string>();
    this.#waiting.set(shard, known);
    return known;
  }
}
