import { objectNamed } from "../base/object-stub.ts";
import { inGroups } from "../base/parallel.ts";
import type { IdentityEnv } from "./env.ts";
import type { AliasPlace } from "./model.ts";
import { shardOfAlias, shardOfAliasId, shardOfEntity } from "./shard/sharding.ts";

/** How the directory of entities is called in a cluster. */
const IDENTITY_RULES = {
  repeated: [
    "shards",
    "entityOfName",
    "listNames",
    "searchNames",
    "begunMerges",
    "allGroups",
    "readGroup",
    "listGroups",
    "readGroupAlias",
    "listGroupAliases",
    "admitShard",
    "forgetEntities",
    "merge",
  ],
} as const;

export function identityOf(env: IdentityEnv) {
  return objectNamed(env, env.IDENTITY, "identity", IDENTITY_RULES);
}

/** How a shard of the entities is called in a cluster. */
const SHARD_RULES = {
  repeated: [
    "logIn",
    "logInto",
    "entity",
    "isTampered",
    "readEntity",
    "listEntities",
    "countEntities",
    "existing",
    "mergedAmong",
    "aliasHolder",
    "aliasAt",
    "readAlias",
    "listAliases",
    "withPolicy",
    "searchAliases",
    "havingPart",
    "addMerged",
    "removeMerged",
    "mergeInto",
    "redirectMerged",
    "dropMerged",
    "putDirectoryEntries",
    "reserveAlias",
    "claimAlias",
    "activateAlias",
    "dropReservedAlias",
  ],
} as const;

export function entityShard(env: IdentityEnv, number: number) {
  return objectNamed(env, env.ENTITY_SHARD, entityShardName(number), SHARD_RULES);
}

export function entityShardName(number: number): string {
  return `entities-${number.toString(16).padStart(2, "0")}`;
}

/** Returns the shard that the name of an alias leads to. */
export function shardAt(env: IdentityEnv, place: AliasPlace) {
  return entityShard(env, shardOfAlias(place));
}

/** Returns the shard of the entity for which an alias id was generated; null for an id that no alias can have. */
export function shardOfId(env: IdentityEnv, aliasId: string) {
  const number = shardOfAliasId(aliasId);
  return number === null ? null : entityShard(env, number);
}

/** Returns the shard that stores an entity (its home); null for an id that no entity can have. */
export function homeOf(env: IdentityEnv, entityId: string) {
  const number = shardOfEntity(entityId);
  return number === null ? null : entityShard(env, number);
}

/** Calls the home of each of these entities, once for all that it stores. Leaves out ids that no entity can have. */
export async function askHomes<T>(
  env: IdentityEnv,
  entityIds: Iterable<string>,
  ask: (home: ReturnType<typeof entityShard>, ids: string[]) => Promise<readonly T[]>,
): Promise<T[]> {
  const answers = await inGroups([...Map.groupBy(entityIds, shardOfEntity)], async ([shard, ids]) =>
    shard === null ? [] : ask(entityShard(env, shard), ids),
  );
  return answers.flat();
}
