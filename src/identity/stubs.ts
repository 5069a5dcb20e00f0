import { within } from "../base/location.ts";
import type { IdentityEnv } from "./env.ts";
import type { AliasPlace } from "./model.ts";
import { shardOfAlias, shardOfAliasId, shardOfEntity } from "./shard/place.ts";

/** The directory of the installation. */
export function identityOf(env: IdentityEnv) {
  return within(env, env.IDENTITY).getByName("identity");
}

/** A shard of entities by its number. */
export function entityShard(env: IdentityEnv, number: number) {
  return within(env, env.ENTITY_SHARD).getByName(entityShardName(number));
}

/** The name of the shard with this number. */
export function entityShardName(number: number): string {
  return `entities-${number.toString(16).padStart(2, "0")}`;
}

/** The shard that the name of an alias leads to. */
export function shardAt(env: IdentityEnv, place: AliasPlace) {
  return entityShard(env, shardOfAlias(place));
}

/** The shard that drew the id of an alias; null for an id that no alias can have. */
export function shardOfId(env: IdentityEnv, aliasId: string) {
  const number = shardOfAliasId(aliasId);
  return number === null ? null : entityShard(env, number);
}

/** The home of an entity; null for an id that no entity can have. */
export function homeOf(env: IdentityEnv, entityId: string) {
  const number = shardOfEntity(entityId);
  return number === null ? null : entityShard(env, number);
}
