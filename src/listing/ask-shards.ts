import { inGroups } from "../base/parallel.ts";
import { type AccessorShard, accessorShard } from "./accessor-shard.ts";
import { shardCount, shardNumbers } from "./accessor-shard-number.ts";
import type { ListingEnv } from "./env.ts";

/** Calls that one request makes to shards at most: the platform lets it make 10,000, to whatever objects. */
const MAX_CALLS = 8000;

/** How often one request may go over all shards if it makes `calls` to each of them every time. Once in any case. */
export function timesOverShards(calls: number): number {
  return Math.max(1, Math.floor(MAX_CALLS / (calls * shardCount())));
}

/** Asks all shards. Results in the order of their numbers. */
export async function askShards<T>(
  env: ListingEnv,
  ask: (shard: DurableObjectStub<AccessorShard>, number: number) => Promise<T>,
): Promise<T[]> {
  return inGroups(shardNumbers(), (number) => ask(accessorShard(env, number), number));
}
