import { currentTime, sleep } from "../../base/clock.ts";
import { sweepThreads } from "../../base/turns/threads.ts";
import type { SweepTurns } from "../../base/turns/turns.ts";
import { decodeStoredId } from "../../token/ids.ts";
import { accessorShard } from "../accessor-shard.ts";
import { accessorShardNumber } from "../accessor-shard-number.ts";
import type { ListingEnv } from "../env.ts";
import type { Ending } from "../inventory/shard/ended.ts";
import { ShardCalls } from "../shard-calls.ts";
import { cancelUpdatesOf } from "./publish.ts";

/** Accessors that take as long as a commit. */
const COMMIT = 50;

/** Takes tokens off the list of one shard. Rejects when they may still be on it. */
type Remove = (shard: number, tokens: readonly Ending[]) => Promise<void>;

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

/** A sweep waits for others that have something for the same shards until none has come for so long (ms). */
const GATHER_MS = 10;
/** How long it waits for them at most (ms): shards that are called for a few tokens at a time spend their time on commits. */
const MAX_GATHER_MS = 150;
/** How long it waits for the shards (ms). */
const MAX_WAIT_MS = 30_000;
/** Accessors that are taken off in one turn: some ms. */
const PER_TURN = 250;

/** Of all trees of this process. What is lost with it is taken off again when the sweep is repeated. */
const QUEUE = new RemovalQueue();

/** Accessors with which a tree ends that can be taken again: a shard gets its id with the same call. */
const LAST_OF_TREES = new Set<string>();

/**
 * Takes tokens that have ended off the lists, which keep for some time how they did. Safe to repeat. Where one process serves
 * everything, sweeps of many trees that take turns call the shards together.
 *
 * @param turns null: the sweep takes none, and calls the shards at once.
 * @param areLast true when their tree has no others, and can be taken again: from the answer on a shard hands it out.
 * @throws when a shard does not answer.
 */
export async function removeFromLists(
  env: ListingEnv,
  tokens: readonly Ending[],
  turns: SweepTurns | null,
  areLast: boolean,
): Promise<void> {
  const accessors = tokens.map(({ accessor }) => accessor);
  // What was said about them before must not arrive afterwards.
  await cancelUpdatesOf(accessors);
  const remove = async (shard: number, of: readonly Ending[]) =>
    accessorShard(env, shard).remove(of, treesThatEnd(of.map(({ accessor }) => accessor)));
  const [first] = accessors;
  if (first === undefined) return;
  if (areLast) LAST_OF_TREES.add(first);
  try {
    if (turns && sweepThreads().shared) {
      QUEUE.add(tokens);
      await sendUntilGone(accessors, remove, turns);
    } else {
      const byShard = [...Map.groupBy(tokens, ({ accessor }) => accessorShardNumber(accessor))];
      await Promise.all(byShard.map(([shard, of]) => remove(shard, of)));
    }
  } finally {
    LAST_OF_TREES.delete(first);
  }
}

async function sendUntilGone(accessors: readonly string[], remove: Remove, turns: SweepTurns): Promise<void> {
  for (const end = currentTime() + MAX_WAIT_MS; currentTime() < end; ) {
    await gather();
    // Another sweep may have called them.
    while (!QUEUE.areGone(accessors) && QUEUE.next(1, currentTime()).length > 0) {
      await turns.piece(async () => {
        const now = currentTime();
        await Promise.all(QUEUE.next(PER_TURN, now).map((shard) => QUEUE.send(shard, PER_TURN, remove, now)));
      });
    }
    if (QUEUE.areGone(accessors)) return;
  }
  throw new Error("a shard of the list of accessors does not answer");
}

async function gather(): Promise<void> {
  for (let waited = 0; waited < MAX_GATHER_MS; waited += GATHER_MS) {
    const { additions } = QUEUE;
    await sleep(GATHER_MS);
    if (QUEUE.additions === additions) return;
  }
}

function treesThatEnd(accessors: readonly string[]): string[] {
  return accessors.flatMap((accessor) => (LAST_OF_TREES.has(accessor) ? (decodeStoredId(accessor)?.treeId ?? []) : []));
}
