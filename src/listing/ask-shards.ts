import { inGroups } from "../base/parallel.ts";
import { systemOf } from "../system/system.ts";
import { type AccessorShard, accessorShard } from "./accessor-shard.ts";
import { generationAt, knownGenerations, shardCount, shardNumbers } from "./accessor-shard-number.ts";
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

/** Size of a shard (bytes) that opens the next generation of shards: half of the platform's limit for an object. */
const FULL_SHARD_BYTES = 5e9;

/**
 * Has the next generation of shards open when a shard of the newest one is full. The System object stores the time of
 * the opening. After a crash the generation opens at that time, if it was stored. Safe to repeat. `now` in ms.
 */
export async function growLists(env: ListingEnv, now: number, fullBytes = FULL_SHARD_BYTES): Promise<void> {
  const generations = knownGenerations();
  const newest = generationAt(now);
  if (newest !== generations.at(-1)) return;
  const numbers = shardNumbers().filter((number) => number >= newest.first);
  const sizes = await inGroups(numbers, (number) => accessorShard(env, number).storedBytes());
  if (Math.max(...sizes) >= fullBytes) await systemOf(env).openListGeneration(generations.length, now);
}
