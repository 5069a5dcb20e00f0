import { currentTime } from "../../base/clock.ts";
import type { Env } from "../../env.ts";
import { isOneProcess } from "../live-tokens.ts";
import type { SweepTurns } from "../sweep-turns.ts";
import { accessorShard, accessorShardNumber } from "./accessor-shard.ts";
import { RemovalQueue } from "./removal-queue.ts";
import { tellNoMoreOf } from "./tell-shards.ts";

/** How long a sweep waits for others that have something for the same shards (ms), and between two looks. */
const GATHER_MS = 10;
/** How long it waits for the shards (ms). */
const MAX_WAIT_MS = 30_000;
/** Accessors that are taken off in one turn: some ms. */
const PER_TURN = 50;

/** Of all trees of this process. What is lost with it is taken off again when the sweep is repeated. */
const QUEUE = new RemovalQueue();

/**
 * Takes dead tokens off the lists: from the answer on the shards do not know them any more. Safe to repeat. Where one process
 * serves everything, sweeps of many trees call the shards together.
 *
 * @throws when a shard does not answer.
 */
export async function takeOffLists(env: Env, accessors: readonly string[], turns: SweepTurns): Promise<void> {
  // What was said about them before must not arrive afterwards.
  await tellNoMoreOf(accessors);
  const remove = async (shard: number, of: readonly string[]) => accessorShard(env, shard).remove(of);
  if (!isOneProcess(env)) {
    const byShard = [...Map.groupBy(accessors, accessorShardNumber)];
    await Promise.all(byShard.map(([shard, of]) => remove(shard, of)));
    return;
  }
  QUEUE.add(accessors);
  for (const end = currentTime() + MAX_WAIT_MS; currentTime() < end; ) {
    await new Promise((resolve) => setTimeout(resolve, GATHER_MS));
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
