import { inGroups } from "../base/parallel.ts";
import { type AccessorShard, accessorShard } from "./accessor-shard.ts";
import { shardCount, shardNumbers } from "./accessor-shard-number.ts";
import type { ListingEnv } from "./env.ts";

/** Maximum number of calls to shards in one request. The platform allows 10,000 calls, to all objects together. */
const MAX_CALLS = 8000;

/** Returns how many passes with `calls` calls to each shard one request may make: at least one. */
export function timesOverShards(calls: number): number {
  return Math.max(1, Math.floor(MAX_CALLS / (calls * shardCount())));
}

/** Calls all shards, a few at a time. Returns the results in the order of their numbers. */
export async function askShards<T>(
  env: ListingEnv,
  ask: (shard: DurableObjectStub<AccessorShard>, number: number) => Promise<T>,
): Promise<T[]> {
  return inGroups(shardNumbers(), (number) => ask(accessorShard(env, number), number));
}
