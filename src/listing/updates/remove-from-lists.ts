import { currentTime, type Ms, sleep } from "../../base/clock.ts";
import type { SweepTurns } from "../../base/shared-thread.ts";
import { treeIdOf } from "../../token/ids.ts";
import { accessorShard, accessorShardNumber } from "../accessor-shards.ts";
import type { ListingEnv } from "../env.ts";
import type { Ending } from "../inventory/ended-tokens.ts";
import { UPDATES } from "./publish.ts";
import { ShardQueue } from "./shard-queue.ts";

/** Cost of one commit, as a number of accessors. */
const COMMIT = 50;

interface Removal extends Ending {
  /** Id of a tree that can be allocated again: its last tokens are being removed. */
  readonly frees?: string;
}

type Remove = (shard: number, tokens: readonly Removal[]) => Promise<void>;

/** Pending removals of the sweeps of many trees. One call to a shard removes the tokens of all of them. */
export class RemovalQueue {
  readonly #removals = new ShardQueue<Removal>();
  #additions = 0;

  /** Number of calls of `add`. */
  get additions(): number {
    return this.#additions;
  }

  add(tokens: readonly Removal[]): void {
    this.#additions++;
    for (const token of tokens) this.#removals.add(accessorShardNumber(token.accessor), token.accessor, token);
  }

  /** True when the shards have removed all of these accessors. */
  areGone(accessors: readonly string[]): boolean {
    return !accessors.some((accessor) => this.#removals.isPending(accessorShardNumber(accessor), accessor));
  }

  /**
   * Selects shards with pending removals and no call in flight. Their cost together is at most `most`: the number of
   * accessors, and `COMMIT` for each call. One shard is always selected, as `send` takes at most `most` of its
   * accessors.
   */
  next(most: number, now: Ms): number[] {
    const shards: number[] = [];
    let sum = 0;
    for (const [shard, size] of this.#removals.ready(now)) {
      if (sum > 0 && sum + size + COMMIT > most) continue;
      shards.push(shard);
      sum += size + COMMIT;
    }
    return shards;
  }

  /** Calls a shard with at most `most` of its pending accessors. They are pending again when the call fails. */
  async send(shard: number, most: number, remove: Remove, now: Ms): Promise<void> {
    await this.#removals.send(shard, now, (tokens) => remove(shard, tokens), most);
  }
}

/** A sweep waits for removals of other sweeps until none was added for this long: they share the calls. */
const GATHER_MS = 10;
/** Longest time of that wait. Without it each call has few tokens, and the shards mostly commit. */
const MAX_GATHER_MS = 150;
/** Longest time that a sweep waits for the shards. */
const MAX_WAIT_MS = 30_000;
/** Accessors removed in one turn. A turn of this size holds the thread for some ms. */
const PER_TURN = 250;
/** The same while requests arrive. Smaller turns would consist mostly of their commit. */
const PER_BUSY_TURN = 50;

/** Pending removals of all trees of this process. After a crash the repeated sweep adds them again. */
const QUEUE = new RemovalQueue();

/**
 * Removes ended tokens from the lists, which keep for some time how they ended. Safe to repeat. Without `turns` the
 * shards are called at once. `areLast`: the tree has no other token, so a shard may allocate it again once it has
 * answered. Rejects when a shard does not answer; another sweep may then send the queued removals. The tree may be
 * allocated before its rows are deleted: until then `create` returns "taken".
 */
export async function removeFromLists(
  env: ListingEnv,
  tokens: readonly Ending[],
  turns: SweepTurns | null,
  areLast: boolean,
): Promise<void> {
  const accessors = tokens.map(({ accessor }) => accessor);
  // A pending update must not list a token again after its removal.
  await UPDATES.cancelUpdates(accessors);
  const [first, ...others] = tokens;
  if (!first) return;
  const removals = areLast ? [{ ...first, frees: treeIdOf(first.accessor) }, ...others] : tokens;
  const remove = async (shard: number, of: readonly Removal[]) => {
    const endings = of.map(({ frees: _, ...ending }) => ending);
    const freed = of.flatMap(({ frees }) => frees ?? []);
    await accessorShard(env, shard).remove(endings, freed);
  };
  if (turns && env.deployment.pace.collectsRemovals) {
    QUEUE.add(removals);
    return sendUntilGone(accessors, remove, turns);
  }
  const byShard = [...Map.groupBy(removals, ({ accessor }) => accessorShardNumber(accessor))];
  await Promise.all(byShard.map(([shard, of]) => remove(shard, of)));
}

async function sendUntilGone(accessors: readonly string[], remove: Remove, turns: SweepTurns): Promise<void> {
  for (const end = currentTime() + MAX_WAIT_MS; currentTime() < end; ) {
    await gather();
    // Another sweep may have sent these removals.
    while (!QUEUE.areGone(accessors) && QUEUE.next(1, currentTime()).length > 0) {
      await turns.piece(async () => {
        const now = currentTime();
        const most = turns.isBusy ? PER_BUSY_TURN : PER_TURN;
        await Promise.all(QUEUE.next(most, now).map((shard) => QUEUE.send(shard, most, remove, now)));
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
