/*
 * Which shards have freed trees to allocate. Only where one process serves everything are trees taken again, and there the shards and
 * their callers share one isolate. A hint: what a shard has is in its storage.
 */

/** Freed trees that shards were given and that are not allocated again, by shard. The shard that was given one last is at the end. */
const freed = new Map<number, number>();

/** A shard was given the id of a freed tree. */
export function noteFreed(shard: number): void {
  const before = freed.get(shard) ?? 0;
  freed.delete(shard);
  freed.set(shard, before + 1);
}

/** At most `count` ids are allocated by a shard. */
export function noteAllocated(shard: number, count: number): void {
  const left = (freed.get(shard) ?? 0) - count;
  if (left > 0) freed.set(shard, left);
  else freed.delete(shard);
}

/** The shard that was given a freed tree last, of those that may have some; undefined: none is known. */
export function shardWithFreed(): number | undefined {
  return [...freed.keys()].at(-1);
}
