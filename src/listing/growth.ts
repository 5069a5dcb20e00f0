import { inGroups } from "../base/parallel.ts";
import { systemOf } from "../system/system.ts";
import { accessorShard } from "./accessor-shard.ts";
import { generationAt, knownGenerations, shardNumbersOf } from "./accessor-shard-number.ts";
import type { ListingEnv } from "./env.ts";

/**
 * Bytes of a shard from which on the next generation of shards takes what is new: half of what the platform gives an object. The rest is
 * for what comes until it opens, and for the ends of the tokens that are there.
 */
export const FULL_SHARD_BYTES = 5e9;

/**
 * Has the next generation of shards open when a shard of the newest one is full. A crash before the System object has written it changes
 * nothing, and one after it either: the generation opens at its time, whether a shard was called by then or not. Safe to repeat.
 *
 * @param now ms.
 * @param fullBytes see `FULL_SHARD_BYTES`.
 */
export async function growLists(env: ListingEnv, now: number, fullBytes = FULL_SHARD_BYTES): Promise<void> {
  const generations = knownGenerations();
  const newest = generationAt(now);
  if (newest !== generations.at(-1)) return;
  const sizes = await inGroups(shardNumbersOf(newest), (number) => accessorShard(env, number).storedBytes());
  if (Math.max(...sizes) >= fullBytes) await systemOf(env).openListGeneration(generations.length, now);
}
