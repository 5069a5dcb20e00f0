import { accessorShardNumber } from "../accessor-shard-number.ts";
import type { Ending } from "../inventory/shard/ended.ts";
import { ShardCalls } from "../shard-calls.ts";

/** Accessors that take as long as a commit. */
const COMMIT = 50;

/** Takes tokens off the list of one shard. Rejects when they may still be on it. */
export type Remove = (shard: number, tokens: readonly Ending[]) => Promise<void>;

/** By accessor. */
type Endings = Map<string, Ending>;

/** What sweeps of many trees take off the lists: one call to a shard for all that has come together. */
export class RemovalQueue {
  readonly #waiting = new Map<number, Endings>();
  #additions = 0;
  readonly #calls = new ShardCalls<Endings>((shard, tokens) => this.#putBack(shard, tokens));

  /** These are to go. */
  add(tokens: readonly Ending[]): void {
    this.#additions++;
    for (const token of tokens) this.#of(accessorShardNumber(token.accessor)).set(token.accessor, token);
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
    const sent: Endings = new Map([...waiting].slice(0, most));
    for (const accessor of sent.keys()) waiting.delete(accessor);
    if (waiting.size === 0) this.#waiting.delete(shard);
    await this.#calls.make(shard, sent, now, () => remove(shard, [...sent.values()]));
  }

  #putBack(shard: number, tokens: Endings): void {
    const waiting = this.#of(shard);
    for (const [accessor, token] of tokens) waiting.set(accessor, token);
  }

  #of(shard: number): Endings {
    const known = this.#waiting.get(shard) ?? new Map<string, Ending>();
    this.#waiting.set(shard, known);
    return known;
  }
}
