import { listOpenings, MAX_LIST_OPENINGS } from "../system/list-openings.ts";
import { decodeStoredId, rowGeneratedAt } from "../token/ids.ts";

/** Shards of the first generation, which every installation has. Changing it would lose track of listed tokens. */
export const ACCESSOR_SHARDS = 16;
/** Each later generation has this many times the shards of the previous one. */
const GROWTH = 4;

/** The shards that list the tokens created from one time on, until the next generation opens. */
export interface ShardGeneration {
  readonly opensAt: number;
  /** The number of the first of its shards; the others follow. */
  readonly first: number;
  readonly shards: number;
}

/** Computes the generations, the oldest first. @param openings see `listOpenings`. */
export function shardGenerations(openings: readonly number[]): readonly [ShardGeneration, ...ShardGeneration[]] {
  let last: ShardGeneration = { opensAt: 0, first: 0, shards: ACCESSOR_SHARDS };
  const later = openings.map((opensAt) => {
    last = { opensAt, first: last.first + last.shards, shards: last.shards * GROWTH };
    return last;
  });
  return [{ opensAt: 0, first: 0, shards: ACCESSOR_SHARDS }, ...later];
}

export function shardNumbersOf({ first, shards }: ShardGeneration): number[] {
  return Array.from({ length: shards }, (_, at) => first + at);
}

export const MAX_ACCESSOR_SHARDS = shardGenerations(Array.from({ length: MAX_LIST_OPENINGS }, (_, at) => at + 1))
  .map(({ shards }) => shards)
  .reduce((sum, shards) => sum + shards);

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

/** Returns the numbers of all shards, consecutive from 0. Every walk over the lists covers all of them. */
export function shardNumbers(): number[] {
  return knownGenerations().flatMap(shardNumbersOf);
}

export function shardCount(): number {
  return knownGenerations().reduce((sum, { shards }) => sum + shards, 0);
}

/** The generation of the shard with this number. */
export function generationOfShard(number: number): ShardGeneration {
  const [first, ...later] = knownGenerations();
  return later.findLast((generation) => generation.first <= number) ?? first;
}

/** Returns the generation that lists tokens created at `now` (ms). */
export function generationAt(now: number): ShardGeneration {
  const [first, ...later] = knownGenerations();
  return later.findLast(({ opensAt }) => opensAt <= now) ?? first;
}

/**
 * Returns the number of the shard of an accessor, or of the tail of a secret's lease. The time in the id determines the
 * generation. The last characters determine the shard in it: they are part of a keyed hash, so the ids of one tree
 * spread evenly.
 */
export function accessorShardNumber(accessor: string): number {
  let sum = 0;
  for (const char of accessor.slice(-4)) sum = (sum * 31 + char.charCodeAt(0)) % 65_521;
  const { first, shards } = generationOf(accessor);
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

function generationOf(accessor: string): ShardGeneration {
  const [first, ...later] = knownGenerations();
  if (later.length === 0) return first;
  const address = decodeStoredId(accessor);
  return address ? generationAt(rowGeneratedAt(address.row)) : first;
}
