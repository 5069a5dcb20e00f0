import type { Ms } from "../base/clock.ts";
import { objectNamed } from "../base/object-stub.ts";
import { inGroups } from "../base/parallel.ts";
import { listOpenings, MAX_LIST_OPENINGS } from "../system/generation-openings.ts";
import { decodeStoredId, rowGeneratedAt } from "../token/ids.ts";
import type { ListingEnv } from "./env.ts";

/** Shards of the first generation, which every installation has. Changing it would lose track of listed tokens. */
export const ACCESSOR_SHARDS = 16;
/** Each later generation has this many times the shards of the previous one. */
const GROWTH = 4;

/** The shards that list the tokens created from one time on, until the next generation opens. */
interface ShardGeneration {
  readonly opensAt: Ms;
  /** The number of the first of its shards; the others follow. */
  readonly first: number;
  readonly shards: number;
}

const FIRST: ShardGeneration = { opensAt: 0, first: 0, shards: ACCESSOR_SHARDS };

/** `openings`: see `listOpenings`. */
function generationsOf(openings: readonly number[]): readonly ShardGeneration[] {
  const generations = [FIRST];
  for (const opensAt of openings) {
    const { first, shards } = generations.at(-1) ?? FIRST;
    generations.push({ opensAt, first: first + shards, shards: shards * GROWTH });
  }
  return generations;
}

function sizeOf(generations: readonly ShardGeneration[]): number {
  return generations.reduce((sum, { shards }) => sum + shards, 0);
}

export const MAX_ACCESSOR_SHARDS = sizeOf(generationsOf(new Array<number>(MAX_LIST_OPENINGS).fill(0)));

/** The generations of shards that this isolate knows of, the oldest first: see `listOpenings`. */
export function knownGenerations(): readonly ShardGeneration[] {
  return generationsOf(listOpenings());
}

export function shardCount(): number {
  return sizeOf(knownGenerations());
}

/** Returns the numbers of all shards, consecutive from 0. Every walk over the lists covers all of them. */
export function shardNumbers(): number[] {
  return Array.from({ length: shardCount() }, (_, number) => number);
}

export function generationOfShard(number: number): ShardGeneration {
  return knownGenerations().findLast(({ first }) => first <= number) ?? FIRST;
}

/** Returns the generation that lists tokens created at `now`. */
export function generationAt(now: Ms): ShardGeneration {
  return knownGenerations().findLast(({ opensAt }) => opensAt <= now) ?? FIRST;
}

/**
 * Returns the number of the shard of an accessor, or of the tail of a secret's lease. The time in the id determines the
 * generation. The last characters determine the shard in it: they are part of a keyed hash, so the ids of one tree
 * spread evenly.
 */
export function accessorShardNumber(accessor: string): number {
  let sum = 0;
  for (const char of accessor.slice(-4)) sum = (sum * 31 + char.charCodeAt(0)) % 65_521;
  const address = listOpenings().length > 0 ? decodeStoredId(accessor) : null;
  const { first, shards } = address ? generationAt(rowGeneratedAt(address.row)) : FIRST;
  return first + (sum % shards);
}

export function accessorShardName(number: number): string {
  return `accessors-${number}`;
}

/** Returns the number of the shard with this object id. @throws Error for the id of another object. */
export function shardNumberOf(shards: DurableObjectNamespace, id: DurableObjectId): number {
  for (let number = 0; number < MAX_ACCESSOR_SHARDS; number++) {
    if (shards.idFromName(accessorShardName(number)).equals(id)) return number;
  }
  throw new Error("no shard has this name");
}

/** Returns the number of the shard that receives the id of a freed tree. */
export function treeShardNumber(treeId: string): number {
  return Number.parseInt(treeId.slice(0, 4), 16) % ACCESSOR_SHARDS;
}

/** How a shard is called in a cluster. */
const RULES = {
  repeated: [
    "applyUpdates",
    "findEnded",
    "endedAt",
    "endedPage",
    "countEnded",
    "countRevoked",
    "inventoryPage",
    "findListed",
    "countMounts",
    "groups",
    "countGroups",
    "treeGroups",
    "endsByGroup",
    "largestTrees",
    "claims",
    "storedBytes",
    "list",
    "treesAfter",
    "leasesBelow",
    "leaseLevel",
    "irrevocableLeases",
    "countLeases",
    "treesWithLeases",
    "removedLeases",
    "countBelow",
    "countIrrevocable",
    "allocatedTrees",
    "addLease",
    "removeLeases",
  ],
} as const;

export function accessorShard(env: ListingEnv, number: number) {
  return objectNamed(env, env.ACCESSOR_SHARD, accessorShardName(number), RULES);
}

/** Maximum number of calls to shards in one request. The platform allows 10,000 calls, to all objects together. */
const MAX_CALLS = 8000;

/** Returns how many passes with `calls` calls to each shard one request may make: at least one. */
export function timesOverShards(calls: number): number {
  return Math.max(1, Math.floor(MAX_CALLS / (calls * shardCount())));
}

/** Calls all shards, a few at a time. Returns the results in the order of their numbers. */
export async function askShards<T>(
  env: ListingEnv,
  ask: (shard: ReturnType<typeof accessorShard>, number: number) => Promise<T>,
): Promise<T[]> {
  return inGroups(shardNumbers(), (number) => ask(accessorShard(env, number), number));
}
