import { nameKey } from "../base/name.ts";
import { inGroups, MAX_PARALLEL_CALLS } from "../base/parallel.ts";
import { joinedHolders, type PolicyHolders } from "../policy/holders.ts";
import type { IdOrName } from "./directory/identity.ts";
import type { IdentityEnv } from "./env.ts";
import { loadGroups } from "./groups.ts";
import type { AliasPlace, AliasRecord, EntityRecord } from "./model.ts";
import type { AliasOrMoved, NamePart } from "./shard/alias-index.ts";
import type { EntityShard } from "./shard/entity-shard.ts";
import { firstIdAfter, firstShardFrom, type ListOrder, shardOfEntity, shardOfName } from "./shard/place.ts";
import { entityShard, homeOf, identityOf, shardAt, shardOfId } from "./stubs.ts";

/** Reads entities and aliases: an id says which shard has them, the name of an alias leads there, and the directory has names. */

/** How a request names an entity to look up. */
export type EntityKey =
  | IdOrName
  | { readonly aliasId: string }
  | { readonly aliasName: string; readonly mountAccessor: string };

/** The entity with this id, name or alias, with its groups. null when there is none. */
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

/** The same with the groups as the entity's shard names them: some may be gone, and those that these are in are absent. */
export async function findEntity(env: IdentityEnv, key: EntityKey): Promise<EntityRecord | null> {
  if ("name" in key) return findByName(env, key.name);
  if ("id" in key) return (await homeOf(env, key.id)?.readEntity(key.id)) ?? null;
  const alias =
    "aliasId" in key
      ? await readAlias(env, key.aliasId)
      : await findAlias(env, { mountAccessor: key.mountAccessor, name: key.aliasName });
  return alias && findEntity(env, { id: alias.entityId });
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

/** At most `limit` entities after the id `after`, with their aliases and without all groups. */
export async function listEntities(env: IdentityEnv, after: string, limit: number): Promise<EntityRecord[]> {
  return listShards(env, "id", after, limit, async (shard, first) => {
    const entities = await shard.listEntities("id", first, limit + 1);
    return entities.filter(({ id }) => id > after);
  });
}

/** At most `limit` names of entities after `after`. */
export async function listEntityNames(
  env: IdentityEnv,
  after: string,
  limit: number,
): Promise<{ readonly name: string }[]> {
  const generated = await listShards(env, "name", after, limit, async (shard, first) => {
    const entities = await shard.listEntities("name", first, limit + 1);
    return entities.map(({ name }) => name).filter((name) => name > nameKey(after));
  });
  const names: string[] = [];
  for (const given of await identityOf(env).listNames(after, limit)) {
    while (generated[0] !== undefined && generated[0] < nameKey(given)) names.push(...generated.splice(0, 1));
    names.push(given);
  }
  return [...names, ...generated].slice(0, limit).map((name) => ({ name }));
}

/** How many entities there are, counted up to `most`. */
export async function countEntities(env: IdentityEnv, most: number): Promise<number> {
  let count = 0;
  for (const shard of await identityOf(env).shards()) {
    if (count >= most) break;
    count += await entityShard(env, shard).countEntities(most - count);
  }
  return count;
}

/** The entities that give their tokens this policy by themselves. Each shard is asked, and looks at a bounded number. */
export async function entitiesGiving(env: IdentityEnv, policy: string): Promise<PolicyHolders> {
  const shards = await identityOf(env).shards();
  return joinedHolders(await inGroups(shards, (shard) => entityShard(env, shard).withPolicy(policy)));
}

/** Those of the ids that no entity has. */
export async function missingEntities(env: IdentityEnv, ids: readonly string[]): Promise<string[]> {
  const found = await inGroups([...Map.groupBy(ids, shardOfEntity)], async ([shard, here]) =>
    shard === null ? [] : entityShard(env, shard).existing(here),
  );
  const existing = new Set(found.flat());
  return ids.filter((id) => !existing.has(id));
}

/** The alias with this id, or null. */
export async function readAlias(env: IdentityEnv, id: string): Promise<AliasRecord | null> {
  return resolved(env, (await shardOfId(env, id)?.readAlias(id)) ?? null);
}

/** The alias with this name on its mount, or null. */
export async function findAlias(env: IdentityEnv, place: AliasPlace): Promise<AliasRecord | null> {
  const holder = await shardAt(env, place).aliasHolder(place);
  return (holder && (await homeOf(env, holder.entityId)?.aliasAt(holder.entityId, place))) ?? null;
}

/** At most `limit` aliases after the id `after`. */
export async function listAliases(env: IdentityEnv, after: string, limit: number): Promise<AliasRecord[]> {
  const aliases = await listShards(env, "aliasId", after, limit, (shard) => shard.listAliases(after, limit));
  const found = await inGroups(aliases, (alias) => resolved(env, alias));
  return found.filter((alias) => alias !== null);
}

/** An alias wherever it is by now. */
async function resolved(env: IdentityEnv, alias: AliasOrMoved | null): Promise<AliasRecord | null> {
  if (!alias || !("movedTo" in alias)) return alias;
  const entity = await findEntity(env, { id: alias.movedTo });
  return entity?.aliases.find(({ id }) => id === alias.id) ?? null;
}

/** At most `limit` entries of shards, which follow each other as the ids that they draw do. */
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

/** Entities that a search finds at most. */
export const MAX_FOUND_ENTITIES = 1000;
/** So many digits of an id are looked for in ids. */
const ID_PART = /^(?:entity_)?([0-9a-f]{8,32})(?:\.root)?$/;

/**
 * Ids of the entities that have `text` as a part of their names, of the names of their aliases, or of their ids, in any case. null when
 * they may be more than `MAX_FOUND_ENTITIES`. Asks every shard that has entities: names are in no index by their parts.
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
  // What only a pointer says of an alias counts for nothing.
  const found = await inGroups([...Map.groupBy(possible, shardOfEntity)], async ([shard, ids]) =>
    shard === null ? [] : entityShard(env, shard).havingPart(ids, part),
  );
  return [...new Set([...named, ...found.flat()])].sort();
}
