import { inGroups } from "../base/parallel.ts";
import { systemOf } from "../system/system.ts";
import { accessorShard } from "./accessor-shard.ts";
import { generationAt, knownGenerations, shardNumbersOf } from "./accessor-shard-number.ts";
import type { ListingEnv } from "./env.ts";

/** Size of a shard (bytes) that opens the next generation of shards: half of the platform's limit for an object. */
export const FULL_SHARD_BYTES = 5e9;

/**
 * Has the next generation of shards open when a shard of the newest one is full. The System object stores the time of
 * the opening. A crash before that changes nothing. After it the generation opens at that time, whether its shards were
 * called or not. Safe to repeat.
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
