import type { Ms } from "../base/clock.ts";
import { inGroups } from "../base/parallel.ts";
import type { Env } from "../env.ts";
import { accessorShard, knownGenerations, shardNumbers } from "../listing/accessor-shards.ts";
import { systemOf } from "../system/system.ts";

/** Size of a shard (bytes) that opens the next generation of shards: half of the platform's limit for an object. */
const FULL_SHARD_BYTES = 5e9;

/**
 * Has the next generation of shards open when a shard of the newest one is full. The System object stores the time of
 * the opening. After a crash the generation opens at that time, if it was stored. Safe to repeat.
 */
export async function growLists(env: Env, now: Ms, fullBytes = FULL_SHARD_BYTES): Promise<void> {
  const generations = knownGenerations();
  const newest = generations.at(-1);
  // The newest one may be announced and not open yet.
  if (!newest || newest.opensAt > now) return;
  const numbers = shardNumbers().filter((number) => number >= newest.first);
  const sizes = await inGroups(numbers, (number) => accessorShard(env, number).storedBytes());
  if (Math.max(...sizes) >= fullBytes) await systemOf(env).openListGeneration(generations.length, now);
}
