import { accessorShardNumber } from "../accessor-shard-number.ts";
import { ShardCalls } from "../shard-calls.ts";

/** Accessors that take as long as a commit. */
const COMMIT = 50;

/** Takes accessors off the list of one shard. Rejects when they may still be on it. */
export type Remove = (shard: number, accessors: readonly string[]) => Promise<void>;

/** What sweeps of many trees take off the lists: one call to a shard for all that has come together. */
export class RemovalQueue {
  readonly #waiting = new Map<number, Set<string>>();
  #additions = 0;
  readonly #calls = new ShardCalls<ReadonlySet<string>>((shard, accessors) => this.#putBack(shard, accessors));

  /** These are to go. */
  add(accessors: readonly string[]): void {
    this.#additions++;
    for (const accessor of accessors) this.#of(accessorShardNumber(accessor)).add(accessor);
  }

  /** How often something was added. */
  get additions(): number {
    return this.#additions;
  }

  /** True when the shards have removed all of these. */
  areGone(accessors: readonly string[]): boolean {
    return !accessors.some((accessor) => {
      const shard = accessorShardNumber(accessor);
      return this.#waiting.get(shard)?.has(accessor) || this.#calls.carriedTo(shard)?.has(accessor);
    });
  }

  /**
   * Some of the shards that have accessors to remove and are not being called: with no more than `most` accessors together, which is
   * what one call takes at most. A call counts as so many accessors as take the time of its commit. `now` in ms.
   */
  next(most: number, now: number): number[] {
    this.#calls.giveUpLost(now);
    const shards: number[] = [];
    let sum = 0;
    for (const [shard, { size }] of this.#waiting) {
      if (this.#calls.has(shard) || (sum > 0 && sum + size + COMMIT > most)) continue;
      shards.push(shard);
      sum += size + COMMIT;
    }
    return shards;
  }

  /** Calls a shard with at most so many of the accessors that it has to remove. */
  async send(shard: number, most: number, remove: Remove, now: number): Promise<void> {
    const waiting = this.#waiting.get(shard);
    if (!waiting || this.#calls.has(shard)) return;
    const accessors = new Set([...waiting].slice(0, most));
    for (const accessor of accessors) waiting.delete(accessor);
    if (waiting.size === 0) this.#waiting.delete(shard);
    await this.#calls.make(shard, accessors, now, () => remove(shard, [...accessors]));
  }

  #putBack(shard: number, accessors: ReadonlySet<string>): void {
    const waiting = this.#of(shard);
    for (const accessor of accessors) waiting.add(accessor);
  }

  #of(shard: number): Set<string> {
    const known = this.#waiting.get(shard) ?? new Set<string>();
    this.#waiting.set(shard, known);
    return known;
  }
}
