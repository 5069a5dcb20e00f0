import { currentTime, sleep } from "../../base/clock.ts";
import { sweepThreads } from "../../base/turns/threads.ts";
import type { SweepTurns } from "../../base/turns/turns.ts";
import { decodeStoredId } from "../../token/ids.ts";
import { accessorShard, accessorShardNumber } from "../accessor-shard.ts";
import type { ListingEnv } from "../env.ts";
import type { Ending } from "../inventory/shard/ended.ts";
import { cancelUpdatesOf } from "./publish.ts";
import { RemovalQueue, type Remove } from "./removal-queue.ts";

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
