/** Number of shards of the access list of one cloud mount. It decides which shard has an entry: never change it. */
export const ACCESS_SHARDS = 16;

/** The shard that stores the logins of an instance: FNV-1a of its id. */
export function accessShardOf(instanceId: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < instanceId.length; at++) hash = Math.imul(hash ^ instanceId.charCodeAt(at), 0x01000193);
  return (hash >>> 0) % ACCESS_SHARDS;
}

/** The name of the object of a shard, given the mount's uuid. */
export function accessShardName(uuid: string, shard: number): string {
  return `${uuid} ${shard}`;
}

/** The names of all shards of a mount. */
export function accessShardNames(uuid: string): string[] {
  return Array.from({ length: ACCESS_SHARDS }, (_, shard) => accessShardName(uuid, shard));
}
