import type { Failure } from "../base/errors.ts";
import { nameKey } from "../base/name.ts";
import { inGroups, MAX_PARALLEL_CALLS } from "../base/parallel.ts";
import { err, ok, type Result } from "../base/result.ts";
import type { Env } from "../env.ts";
import type { WrittenAlias } from "./alias-writes.ts";
import { type EntityKey, type IdOrName, identityOf } from "./identity.ts";
import type {
  AliasPlace,
  AliasRecord,
  AliasWrite,
  EntityRecord,
  EntityWrite,
  GroupWrite,
  NewEntityIds,
  Written,
} from "./model.ts";
import type { EntityShard } from "./shard/entity-shard.ts";
import {
  entityIdOfAlias,
  firstIdAfter,
  firstShardFrom,
  type ListOrder,
  shardOfAlias,
  shardOfEntity,
  shardOfName,
} from "./shard/place.ts";
import { entityShard } from "./shard/stub.ts";

/**
 * Entities and their aliases, wherever they are: an id, a made-up name or an alias says which object may have them. What an operator
 * writes is handed over to `Identity` first, so that all rules are decided there, as if there were no shards.
 */

/** How often the write of an alias is tried while others move it. */
const MAX_ATTEMPTS = 5;

const TROUBLED: Failure = {
  code: "unavailable",
  message: "the alias is being changed; try again",
  retryAfterSeconds: 1,
};

/** The entity with this id, name or alias, with its groups. null when there is none. */
export async function readEntity(env: Env, key: EntityKey): Promise<EntityRecord | null> {
  // A shard first: an entity that leaves it meanwhile is found in `Identity` then.
  return (await readInShard(env, key)) ?? identityOf(env).readEntity(key);
}

async function readInShard(env: Env, key: EntityKey): Promise<EntityRecord | null> {
  if ("name" in key) {
    const shard = shardOfName(key.name);
    return shard === null
      ? null
      : entityShard(env, shard).readEntityByName(key.name, firstIdAfter("name", key.name) ?? "");
  }
  if ("aliasName" in key) {
    const { mountAccessor, aliasName } = key;
    return shardOf(env, { mountAccessor, name: aliasName }).readEntityOfAlias(mountAccessor, aliasName);
  }
  const id = "id" in key ? key.id : entityIdOfAlias(key.aliasId);
  const shard = id === null ? null : shardOfEntity(id);
  return id === null || shard === null ? null : entityShard(env, shard).readEntity(id);
}

/** Creates or changes an entity, see `Identity.writeEntity`. */
export async function writeEntity(
  env: Env,
  id: string | null,
  write: EntityWrite,
  newId: string,
  newName: string,
  now: number,
): Promise<Result<Written, Failure>> {
  if (id !== null) await handOver(env, [id]);
  if (write.name !== null && shardOfName(write.name) !== null) {
    const named = await readInShard(env, { name: write.name });
    if (named) await handOver(env, [named.id]);
  }
  return identityOf(env).writeEntity(id, write, newId, newName, now);
}

/** Deletes entities with their aliases. Safe to repeat. */
export async function deleteEntities(env: Env, keys: readonly IdOrName[]): Promise<void> {
  const ids: string[] = [];
  for (const key of keys) {
    if ("id" in key) ids.push(key.id);
    else {
      const named = await readInShard(env, key);
      if (named) ids.push(named.id);
    }
  }
  await inShards(ids, (shard, here) => entityShard(env, shard).deleteEntities(here));
  // Those that were handed over before, or meanwhile.
  await identityOf(env).deleteEntities(keys);
}

/** At most `limit` entities with their aliases (and without their groups) after `after`, an id or a name. */
export async function listEntities(
  env: Env,
  order: "id" | "name",
  after: string,
  limit: number,
): Promise<EntityRecord[]> {
  const listed = (entry: EntityRecord) => ({ key: order === "id" ? entry.id : nameKey(entry.name), entry });
  const from = order === "id" ? after : nameKey(after);
  const inShards = await listShards(env, order, from, limit, listed);
  return merged(inShards, (await identityOf(env).listEntities(order, after, limit)).map(listed), limit);
}

/** How many entities there are, counted up to `most`. */
export async function countEntities(env: Env, most: number): Promise<number> {
  let count = await identityOf(env).countEntities(most);
  for (const shard of await identityOf(env).shards()) {
    if (count >= most) break;
    count += await entityShard(env, shard).countEntities(most - count);
  }
  return count;
}

/** Creates or changes an alias, see `Identity.writeAlias`. */
export async function writeAlias(
  env: Env,
  id: string | null,
  write: AliasWrite,
  ids: NewEntityIds,
  now: number,
): Promise<Result<WrittenAlias, Failure>> {
  await handOver(env, [id === null ? null : entityIdOfAlias(id), write.entityId]);
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    const place = await placeAfter(env, id, write);
    if (place) {
      const holder = write.entityId ?? (id === null ? ids.entityId : null);
      await shardOf(env, place).handOverAlias(place.mountAccessor, place.name, holder);
    }
    const written = await identityOf(env).writeAlias(id, write, ids, place, now);
    if (!written.ok) return written;
    if (written.value !== "other place") return ok(written.value);
  }
  return err(TROUBLED);
}

/** Where an alias will be after the write; null when nobody knows, and the write will be refused. */
async function placeAfter(env: Env, id: string | null, write: AliasWrite): Promise<AliasPlace | null> {
  const alias = id === null ? null : await identityOf(env).readAlias(id);
  const mountAccessor = write.mountAccessor ?? alias?.mountAccessor;
  const name = write.name ?? alias?.name;
  return mountAccessor === undefined || name === undefined ? null : { mountAccessor, name };
}

/** The alias with this id, or null. */
export async function readAlias(env: Env, id: string): Promise<AliasRecord | null> {
  const entity = await readInShard(env, { aliasId: id });
  return entity?.aliases[0] ?? identityOf(env).readAlias(id);
}

/** Deletes an alias. Safe to repeat. */
export async function deleteAlias(env: Env, id: string): Promise<void> {
  await handOver(env, [entityIdOfAlias(id)]);
  await identityOf(env).deleteAlias(id);
}

/** At most `limit` aliases after the id `after`. */
export async function listAliases(env: Env, after: string, limit: number): Promise<AliasRecord[]> {
  const listed = (entry: AliasRecord) => ({ key: entry.id, entry });
  const inShards = await listShards(env, "aliasId", after, limit, ({ aliases: [alias] }) =>
    alias ? listed(alias) : null,
  );
  return merged(inShards, (await identityOf(env).listAliases(after, limit)).map(listed), limit);
}

/** Creates or changes a group, see `Identity.writeGroup`. */
export async function writeGroup(
  env: Env,
  id: string | null,
  write: GroupWrite,
  newId: string,
  newName: string,
  now: number,
): Promise<Result<Written, Failure>> {
  await handOver(env, write.memberEntityIds ?? []);
  return identityOf(env).writeGroup(id, write, newId, newName, now);
}

/** Makes sure that `Identity` has those of the entities that a shard has. */
async function handOver(env: Env, ids: readonly (string | null)[]): Promise<void> {
  await inShards(
    ids.filter((id) => id !== null),
    (shard, here) => entityShard(env, shard).handOverEntities(here),
  );
}

/** Does `work` for every shard that drew some of the ids. */
async function inShards(ids: readonly string[], work: (shard: number, ids: string[]) => Promise<void>): Promise<void> {
  const drawn = ids.flatMap((id) => {
    const shard = shardOfEntity(id);
    return shard === null ? [] : [{ shard, id }];
  });
  const byShard = [...Map.groupBy(drawn, ({ shard }) => shard)];
  await inGroups(byShard, ([shard, here]) =>
    work(
      shard,
      here.map(({ id }) => id),
    ),
  );
}

/** An entry of a list, with what the list is ordered by. */
interface Listed<T> {
  readonly key: string;
  readonly entry: T;
}

/** At most `limit` entries of shards after `after`, and perhaps some more. Shards follow each other as their ids do. */
async function listShards<T>(
  env: Env,
  order: ListOrder,
  after: string,
  limit: number,
  listed: (entity: EntityRecord) => Listed<T> | null,
): Promise<Listed<T>[]> {
  const first = firstIdAfter(order, after);
  const from = first === null ? null : firstShardFrom(first);
  if (first === null || from === null) return [];
  const shards = (await identityOf(env).shards()).filter((shard) => shard >= from);
  const found: Listed<T>[] = [];
  for (let at = 0; at < shards.length && found.length < limit; at += MAX_PARALLEL_CALLS) {
    const group = shards.slice(at, at + MAX_PARALLEL_CALLS);
    const pages = await Promise.all(group.map((shard) => entityShard(env, shard).listEntities(first, limit + 1)));
    for (const entity of pages.flat()) {
      const entry = listed(entity);
      if (entry && entry.key > after) found.push(entry);
    }
  }
  return found;
}

/** Two lists in one order as one. What moved from the first to the second while they were read is in both, and stays once. */
function merged<T>(some: readonly Listed<T>[], others: readonly Listed<T>[], limit: number): T[] {
  const seen = new Set(others.map(({ key }) => key));
  const mine = some.filter(({ key }) => !seen.has(key));
  const all: T[] = [];
  for (let a = 0, b = 0; all.length < limit; ) {
    const [next, other] = [mine[a], others[b]];
    if (!next && !other) break;
    if (next && (!other || next.key < other.key)) {
      all.push(next.entry);
      a++;
    } else if (other) {
      all.push(other.entry);
      b++;
    }
  }
  return all;
}

function shardOf(env: Env, { mountAccessor, name }: AliasPlace): DurableObjectStub<EntityShard> {
  return entityShard(env, shardOfAlias(mountAccessor, name));
}
