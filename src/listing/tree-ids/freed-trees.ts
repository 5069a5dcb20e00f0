/*
 * Where freed trees can be drawn. Only where one process serves everything are trees taken again, and there the shards and
 * whoever draws share one isolate. A hint: what a shard has is in its storage.
 */

/** Freed trees that shards were given and that nobody drew, by shard. The shard that was given one last is at the end. */
const freed = new Map<number, number>();

/** A shard was given the id of a freed tree. */
export function noteFreed(shard: number): void {
  const before = freed.get(shard) ?? 0;
  freed.delete(shard);
  freed.set(shard, before + 1);
}

/** At most `count` ids are drawn from a shard. */
export function noteAllocated(shard: number, count: number): void {
  const left = (freed.get(shard) ?? 0) - count;
  if (left > 0) freed.set(shard, left);
  else freed.delete(shard);
}

/** The shard that was given a freed tree last, of those that may have some; undefined: none is known. */
export function shardWithFreed(): number | undefined {
  return [...freed.keys()].at(-1);
}
