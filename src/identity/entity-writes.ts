import { inGroups } from "../base/parallel.ts";
import { err, invalid, ok, type Result, refuse, unavailable } from "../base/result.ts";
import { releaseAlias } from "./alias-writes.ts";
import { findEntity, missingEntities } from "./entities.ts";
import type { IdentityEnv } from "./env.ts";
import type { EntityWrite, GroupWrite, IdOrName, Written } from "./model.ts";
import { nameOfEntity, newEntityId, randomShard, shardOfEntity } from "./shard/place.ts";
import { entityShard, homeOf, identityOf } from "./stubs.ts";

const MAX_ATTEMPTS = 5;

const NAME_IS_CHANGING = unavailable("the name is being changed; try again");
const NAME_TAKEN = invalid("entity name is already in use");
const ENTITY_NOT_FOUND = invalid("entity not found from id");

/**
 * Creates or changes an entity. With an id the entity must exist. Without one, the name selects an existing entity.
 * Messages are the reference's (identity/entity).
 *
 * The entity's shard (its home) stores the entity, the directory its name. A new entity is stored before it is named. A
 * name without an entity was therefore left behind by a deletion, and can be reused. For an existing entity the name is
 * decided before anything else is written, so that a refusal changes nothing.
 *
 * @param now ms.
 */
export async function writeEntity(
  env: IdentityEnv,
  id: string | null,
  write: EntityWrite,
  now: number,
  attempt = 1,
): Promise<Result<Written>> {
  const byId = id === null ? null : await findEntity(env, { id });
  if (id !== null && !byId) return err(ENTITY_NOT_FOUND);
  const byName = write.name === null ? null : await findEntity(env, { name: write.name });
  if (byId && byName && byName.id !== byId.id) return err(NAME_TAKEN);
  const entity = byId ?? byName;
  if (!entity) return createEntity(env, write, now, attempt);
  const name = write.name ?? entity.name;
  if (name !== entity.name && (await nameEntity(env, entity.id, name)) !== entity.id) return err(NAME_TAKEN);
  const isWritten = await homeOf(env, entity.id)?.writeEntity(entity.id, write, now);
  return isWritten ? ok({ id: entity.id, name, created: false }) : err(ENTITY_NOT_FOUND);
}

async function createEntity(
  env: IdentityEnv,
  write: EntityWrite,
  now: number,
  attempt: number,
): Promise<Result<Written>> {
  const shard = randomShard();
  const id = newEntityId(shard);
  await entityShard(env, shard).createEntity(id, write, now);
  const { name } = write;
  if (name === null) return ok({ id, name: nameOfEntity(id), created: true });
  if ((await nameEntity(env, id, name)) === id) return ok({ id, name, created: true });
  // A concurrent write took the name, so this write is for the entity that has it now.
  await deleteEntities(env, [{ id }]);
  return attempt < MAX_ATTEMPTS ? writeEntity(env, null, write, now, attempt + 1) : err(NAME_IS_CHANGING);
}

/** Gives an entity a name, unless another entity has it. @returns the id of the entity that has the name. */
async function nameEntity(env: IdentityEnv, id: string, name: string): Promise<string> {
  const holder = await identityOf(env).nameEntity(id, name, null);
  const isTaken = holder === id || (await findEntity(env, { id: holder })) !== null;
  return isTaken ? holder : identityOf(env).nameEntity(id, name, holder);
}

/**
 * Deletes entities with their aliases. Safe to repeat. Their shards come first, so that their tokens are refused even
 * after a crash. Entries in the directory and pointers that a crash leaves behind lead to no entity, and other entities
 * can replace them.
 */
export async function deleteEntities(env: IdentityEnv, keys: readonly IdOrName[]): Promise<void> {
  const named = await inGroups(keys, async (key) => {
    if ("id" in key) return key.id;
    // The directory also has the names of entities that are deleted.
    return (await findEntity(env, key))?.id ?? identityOf(env).entityOfName(key.name);
  });
  const ids = named.filter((id) => id !== null);
  const aliases = await inGroups([...Map.groupBy(ids, shardOfEntity)], async ([shard, here]) =>
    shard === null ? [] : entityShard(env, shard).deleteEntities(here),
  );
  await inGroups(aliases.flat(), (alias) => releaseAlias(env, alias));
  await identityOf(env).forgetEntities(ids);
}

/**
 * Creates or changes a group, see `Identity.writeGroup`. Checks first that its members exist.
 *
 * @param now ms.
 */
export async function writeGroup(
  env: IdentityEnv,
  id: string | null,
  write: GroupWrite,
  now: number,
): Promise<Result<Written>> {
  const missing = await missingEntities(env, write.memberEntityIds ?? []);
  if (missing.length > 0) return refuse("member_entity_ids holds an id that is no entity");
  return identityOf(env).writeGroup(id, write, now);
}
