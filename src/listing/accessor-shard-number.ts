import { listOpenings } from "../system/list-openings.ts";
import { decodeStoredId, rowGeneratedAt } from "../token/ids.ts";
import {
  ACCESSOR_SHARDS,
  MAX_ACCESSOR_SHARDS,
  type ShardGeneration,
  shardGenerations,
  shardNumbersOf,
} from "./shard-generations.ts";

let openings: readonly number[] = [];
let generations = shardGenerations(openings);

/** The generations of shards that this isolate knows of, the oldest first: see `listOpenings`. */
export function knownGenerations(): readonly [ShardGeneration, ...ShardGeneration[]] {
  if (openings !== listOpenings()) {
    openings = listOpenings();
    generations = shardGenerations(openings);
  }
  return generations;
}

/** The numbers of all shards, one after the other from 0 on. Whatever goes over the lists goes over these. */
export function shardNumbers(): number[] {
  return knownGenerations().flatMap(shardNumbersOf);
}

/** How many shards there are. */
export function shardCount(): number {
  return knownGenerations().reduce((sum, { shards }) => sum + shards, 0);
}

/** The generation of the shard with this number. */
export function generationOfShard(number: number): ShardGeneration {
  const [first, ...later] = knownGenerations();
  return later.findLast((generation) => generation.first <= number) ?? first;
}

/** The generation that lists what is made at `now` (ms). */
export function generationAt(now: number): ShardGeneration {
  const [first, ...later] = knownGenerations();
  return later.findLast(({ opensAt }) => opensAt <= now) ?? first;
}

/**
 * The number of the shard of an accessor, or of the tail of a secret's lease. Its generation follows from the time that the id
 * contains; the place there from its last characters, which are keyed hash and so spread evenly whatever tree it belongs to.
 */
export function accessorShardNumber(accessor: string): number {
  let sum = 0;
  for (const char of accessor.slice(-4)) sum = (sum * 31 + char.charCodeAt(0)) % 65_521;
  const { first, shards } = generationOf(accessor);
  return first + (sum % shards);
}

/** The name of the object that is the shard with this number. */
export function accessorShardName(number: number): string {
  return `accessors-${number}`;
}

/** The number of the shard that is the object with this id. @throws Error for the id of another object. */
export function shardNumberOf(shards: DurableObjectNamespace, id: DurableObjectId): number {
  for (let number = 0; number < MAX_ACCESSOR_SHARDS; number++) {
    if (shards.idFromName(accessorShardName(number)).equals(id)) return number;
  }
  throw new Error("no shard has this name");
}

/** The number of the shard that a freed tree gives its id to. */
export function treeShardNumber(treeId: string): number {
  return Number.parseInt(treeId.slice(0, 4), 16) % ACCESSOR_SHARDS;
}

function generationOf(accessor: string): ShardGeneration {
  const [first, ...later] = knownGenerations();
  if (later.length === 0) return first;
  const address = decodeStoredId(accessor);
  return address ? generationAt(rowGeneratedAt(address.row)) : first;
}
