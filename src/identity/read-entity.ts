import { nameKey } from "../base/case-folding.ts";
import { inGroups, MAX_PARALLEL_CALLS } from "../base/parallel.ts";
import { joinedUsage, type PolicyUsage } from "../policy/usage.ts";
import { loadGroups } from "./entity-copies.ts";
import type { IdentityEnv } from "./env.ts";
import type { AliasPlace, AliasRecord, EntityRecord, IdOrName } from "./model.ts";
import type { AliasOrMoved } from "./shard/alias-list.ts";
import type { NamePart } from "./shard/entity-search.ts";
import type { EntityShard } from "./shard/entity-shard.ts";
import { firstIdAfter, firstShardFrom, type ListOrder, shardOfName } from "./shard/sharding.ts";
import { askHomes, entityShard, homeOf, identityOf, shardAt, shardOfId } from "./stubs.ts";

/**
 * How a request names an entity. Its id has the number of its shard, the name of an alias hashes to a shard, and the
 * directory has the names that operators gave.
 */
export type EntityKey = IdOrName | { readonly aliasId: string } | AliasPlace;

/** Returns the entity with this id, name or alias, with its groups; null when there is none. */
export async function readEntity(env: IdentityEnv, key: EntityKey): Promise<EntityRecord | null> {
  const entity = await findEntity(env, key);
  if (!entity || entity.directGroupIds.length === 0) return entity;
  const direct = new Set(entity.directGroupIds);
  const ids = (await loadGroups(env, 0)).above(entity.directGroupIds).map(({ group }) => group.id);
  ids.sort();
  return {
    ...entity,
    directGroupIds: ids.filter((id) => direct.has(id)),
    inheritedGroupIds: ids.filter((id) => !direct.has(id)),
  };
}

/** Like `readEntity`, but with the groups that the entity's shard lists: no inherited ones, and maybe deleted ones. */
export async function findEntity(env: IdentityEnv, key: EntityKey): Promise<EntityRecord | null> {
  if ("mountAccessor" in key || "aliasId" in key) {
    const alias = await ("aliasId" in key ? readAlias(env, key.aliasId) : findAlias(env, key));
    return alias && findEntity(env, { id: alias.entityId });
  }
  return "name" in key ? findByName(env, key.name) : ((await homeOf(env, key.id)?.readEntity(key.id)) ?? null);
}

async function findByName(env: IdentityEnv, name: string): Promise<EntityRecord | null> {
  const shard = shardOfName(name);
  if (shard !== null) {
    const first = firstIdAfter("name", name) ?? "";
    const [unnamed] = await entityShard(env, shard).listEntities("name", first, 1);
    if (unnamed?.name === nameKey(name)) return unnamed;
  }
  const id = await identityOf(env).entityOfName(name);
  return id === null ? null : findEntity(env, { id });
}

/** Maximum number of entities that are looked up by their ids at once. */
export const MAX_LOOKED_UP = 100;

/** Returns the entities with these ids that exist, at most `MAX_LOOKED_UP`, with groups as in `findEntity`. */
export async function findEntities(env: IdentityEnv, ids: readonly string[]): Promise<EntityRecord[]> {
  const found = await inGroups(ids.slice(0, MAX_LOOKED_UP), (id) => findEntity(env, { id }));
  return found.filter((entity) => entity !== null);
}

/** Returns at most `limit` entities after the id `after`, with their aliases, and groups as in `findEntity`. */
export async function listEntities(env: IdentityEnv, after: string, limit: number): Promise<EntityRecord[]> {
  return listShards(env, "id", after, limit, async (shard, first) => {
    const entities = await shard.listEntities("id", first, limit + 1);
    return entities.filter(({ id }) => id > after);
  });
}

/** Returns at most `limit` names of entities after `after`, generated and given ones in one order. */
export async function listEntityNames(env: IdentityEnv, after: string, limit: number): Promise<string[]> {
  const generated = await listShards(env, "name", after, limit, async (shard, first) => {
    const entities = await shard.listEntities("name", first, limit + 1);
    return entities.map(({ name }) => name).filter((name) => name > nameKey(after));
  });
  const names: string[] = [];
  for (const given of await identityOf(env).listNames(after, limit)) {
    while (generated[0] !== undefined && generated[0] < nameKey(given)) names.push(...generated.splice(0, 1));
    names.push(given);
  }
  return [...names, ...generated].slice(0, limit);
}

/** Counts the entities, up to `most`. */
export async function countEntities(env: IdentityEnv, most: number): Promise<number> {
  let count = 0;
  for (const shard of await identityOf(env).shards()) {
    if (count >= most) break;
    count += await entityShard(env, shard).countEntities(most - count);
  }
  return count;
}

/** Returns the entities that have this policy themselves. Calls every shard; each searches a bounded number of rows. */
export async function entitiesGiving(env: IdentityEnv, policy: string): Promise<PolicyUsage> {
  const shards = await identityOf(env).shards();
  return joinedUsage(await inGroups(shards, (shard) => entityShard(env, shard).withPolicy(policy)));
}

/** Returns the alias with this id, or null. */
export async function readAlias(env: IdentityEnv, id: string): Promise<AliasRecord | null> {
  return resolved(env, (await shardOfId(env, id)?.readAlias(id)) ?? null);
}

/** Returns the alias with this name on its mount, or null. */
export async function findAlias(env: IdentityEnv, place: AliasPlace): Promise<AliasRecord | null> {
  const holder = await shardAt(env, place).aliasHolder(place);
  return (holder && (await homeOf(env, holder.entityId)?.aliasAt(holder.entityId, place))) ?? null;
}

/** Returns at most `limit` aliases after the id `after`. */
export async function listAliases(env: IdentityEnv, after: string, limit: number): Promise<AliasRecord[]> {
  const aliases = await listShards(env, "aliasId", after, limit, (shard) => shard.listAliases(after, limit));
  const found = await inGroups(aliases, (alias) => resolved(env, alias));
  return found.filter((alias) => alias !== null);
}

/** Returns an alias. A moved alias is read from its current entity. */
async function resolved(env: IdentityEnv, alias: AliasOrMoved | null): Promise<AliasRecord | null> {
  if (!alias || !("movedTo" in alias)) return alias;
  const entity = await findEntity(env, { id: alias.movedTo });
  return entity?.aliases.find(({ id }) => id === alias.id) ?? null;
}

/** Returns at most `limit` entries of all shards in the order of ids. Ids begin with the number of their shard. */
async function listShards<T>(
  env: IdentityEnv,
  order: ListOrder,
  after: string,
  limit: number,
  list: (shard: DurableObjectStub<EntityShard>, first: string) => Promise<T[]>,
): Promise<T[]> {
  const first = firstIdAfter(order, after);
  const from = first === null ? null : firstShardFrom(first);
  if (first === null || from === null) return [];
  const shards = (await identityOf(env).shards()).filter((shard) => shard >= from);
  const found: T[] = [];
  for (let at = 0; at < shards.length && found.length < limit; at += MAX_PARALLEL_CALLS) {
    const group = shards.slice(at, at + MAX_PARALLEL_CALLS);
    const pages = await Promise.all(group.map((shard) => list(entityShard(env, shard), first)));
    found.push(...pages.flat());
  }
  return found.slice(0, limit);
}

/** Maximum number of entities that a search returns. */
export const MAX_FOUND_ENTITIES = 1000;
/** A text that is also searched for in ids: 8 to 32 hex digits, or a generated name. */
const ID_PART = /^(?:entity_)?([0-9a-f]{8,32})(?:\.root)?$/;

/**
 * Returns the ids of the entities that have `text` in their names, the names of their aliases, or their ids, without
 * regard to case. null when there may be more than `MAX_FOUND_ENTITIES`. Calls every shard that has entities, since no
 * index finds parts of names.
 */
export async function searchEntities(env: IdentityEnv, text: string): Promise<string[] | null> {
  const key = nameKey(text);
  const part: NamePart = { key, id: ID_PART.exec(key.replaceAll("-", ""))?.[1] ?? null };
  const directory = identityOf(env);
  const named = await directory.searchNames(key, MAX_FOUND_ENTITIES + 1);
  const lists = await inGroups(await directory.shards(), (shard) =>
    entityShard(env, shard).searchAliases(part, MAX_FOUND_ENTITIES + 1),
  );
  const possible = new Set(lists.flat());
  if (named.length + possible.size > MAX_FOUND_ENTITIES) return null;
  // A pointer alone proves no alias: the entity's shard must confirm it.
  const found = await askHomes(env, possible, (home, ids) => home.havingPart(ids, part));
  return [...new Set([...named, ...found])].sort();
}
