/** How many objects share the list of accessors. Changing it would lose track of listed accessors. */
export const ACCESSOR_SHARDS = 16;

/**
 * The number of the shard of an accessor: from its last characters, which are keyed hash and so spread evenly whatever
 * tree the accessor belongs to.
 */
export function accessorShardNumber(accessor: string): number {
  let sum = 0;
  for (const char of accessor.slice(-4)) sum = (sum * 31 + char.charCodeAt(0)) % 65_521;
  return sum % ACCESSOR_SHARDS;
}

/** The name of the object that is the shard with this number. */
export function accessorShardName(number: number): string {
  return `accessors-${number}`;
}

/** The number of the shard that a freed tree gives its id to. */
export function treeShardNumber(treeId: string): number {
  return Number.parseInt(treeId.slice(0, 4), 16) % ACCESSOR_SHARDS;
}
