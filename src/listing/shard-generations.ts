import { MAX_LIST_OPENINGS } from "../system/list-openings.ts";

/** Shards of the first generation, which every installation has. Changing it would lose track of listed tokens. */
export const ACCESSOR_SHARDS = 16;
/** Each later generation has so many times the shards of the one before it. */
const GROWTH = 4;

/** Objects that share the lists of the tokens that were made from one moment on, until the next generation opens. */
export interface ShardGeneration {
  /** ms. */
  readonly opensAt: number;
  /** The number of the first of its shards; the others follow. */
  readonly first: number;
  readonly shards: number;
}

/** The generations, the oldest first. @param openings see `listOpenings`. */
export function shardGenerations(openings: readonly number[]): readonly [ShardGeneration, ...ShardGeneration[]] {
  let last: ShardGeneration = { opensAt: 0, first: 0, shards: ACCESSOR_SHARDS };
  const later = openings.map((opensAt) => {
    last = { opensAt, first: last.first + last.shards, shards: last.shards * GROWTH };
    return last;
  });
  return [{ opensAt: 0, first: 0, shards: ACCESSOR_SHARDS }, ...later];
}

/** The numbers of the shards of a generation. */
export function shardNumbersOf({ first, shards }: ShardGeneration): number[] {
  return Array.from({ length: shards }, (_, at) => first + at);
}

/** The most shards that there can be. */
export const MAX_ACCESSOR_SHARDS = shardGenerations(Array.from({ length: MAX_LIST_OPENINGS }, (_, at) => at + 1))
  .map(({ shards }) => shards)
  .reduce((sum, shards) => sum + shards);
