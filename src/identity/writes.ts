import { currentTime } from "../base/clock.ts";
import { attempted, changedOnce } from "../base/lost-call-retry.ts";
import { inGroups } from "../base/parallel.ts";
import { err, invalid, ok, type Result, refuse, unavailable } from "../base/result.ts";
import type { IdentityEnv } from "./env.ts";
import type {
  AliasMetadata,
  AliasPlace,
  AliasRecord,
  AliasWrite,
  EntityState,
  EntityWrite,
  GroupWrite,
  IdOrName,
  Written,
} from "./model.ts";
import { newNameProblem } from "./name-and-metadata.ts";
import { findAlias, findEntity, readAlias } from "./read-entity.ts";
import { isSamePlace, sameMetadata } from "./shard/entity.ts";
import type { EntityShard } from "./shard/entity-shard.ts";
import { type AliasOwner, BY_ALIAS_ID } from "./shard/entity-store.ts";
import {
  entityPrefixOf,
  firstAliasId,
  nameOfEntity,
  newAliasId,
  newEntityId,
  randomShard,
  shardOfAlias,
  shardOfEntity,
} from "./shard/sharding.ts";
import { askHomes, entityShard, homeOf, identityOf, shardAt, shardOfId } from "./stubs.ts";

/** Maximum number of attempts of a write while other writes change what its name leads to. */
const MAX_ATTEMPTS = 5;

const NAME_IS_CHANGING = unavailable("the name is being changed; try again");
const ENTITY_NAME_TAKEN = invalid("entity name is already in use");
const ENTITY_NOT_FOUND = invalid("entity not found from id");

/**
 * Creates or changes an entity. With an id the entity must exist. Without one, the name selects an existing entity.
 * Messages are the reference's (identity/entity).
 *
 * The entity's shard (its home) stores the entity, the directory its name. A new entity is stored before it is named. A
 * name without an entity was therefore left behind by a deletion, and can be reused. For an existing entity the name is
 * decided before anything else is written, so that a refusal changes nothing.
 */
export async function writeEntity(
  env: IdentityEnv,
  id: string | null,
  write: EntityWrite,
  attempt = 1,
): Promise<Result<Written>> {
  const byId = id === null ? null : await findEntity(env, { id });
  if (id !== null && !byId) return err(ENTITY_NOT_FOUND);
  const byName = write.name === null ? null : await findEntity(env, { name: write.name });
  if (byId && byName && byName.id !== byId.id) return err(ENTITY_NAME_TAKEN);
  const entity = byId ?? byName;
  const problem = write.name === null || write.name === entity?.name ? null : newNameProblem("entity", write.name);
  if (problem) return refuse(problem);
  if (!entity) return createEntity(env, write, attempt);
  const name = write.name ?? entity.name;
  if (name !== entity.name && (await nameEntity(env, entity.id, name)) !== entity.id) return err(ENTITY_NAME_TAKEN);
  const { id: entityId } = entity;
  const now = currentTime();
  return changedOnce(env, async (call) => {
    const isWritten = await homeOf(env, entityId)?.writeEntity(entityId, write, now, call);
    return isWritten ? ok({ id: entityId, name, created: false }) : err(ENTITY_NOT_FOUND);
  });
}

async function createEntity(env: IdentityEnv, write: EntityWrite, attempt: number): Promise<Result<Written>> {
  const shard = randomShard();
  const id = newEntityId(shard);
  const now = currentTime();
  await attempted(env, async (call) => {
    const home = entityShard(env, shard);
    // An object of 1.0.0-rc.1 has no answer for an entity that an earlier attempt has made.
    if (!(call?.again && (await home.readEntity(id)))) await home.createEntity(id, write, now, call);
  });
  const { name } = write;
  if (name === null) return ok({ id, name: nameOfEntity(id), created: true });
  if ((await nameEntity(env, id, name)) === id) return ok({ id, name, created: true });
  // A concurrent write took the name, so this write is for the entity that has it now.
  await deleteEntities(env, [{ id }]);
  return attempt < MAX_ATTEMPTS ? writeEntity(env, null, write, attempt + 1) : err(NAME_IS_CHANGING);
}

/** Gives an entity a name, unless another entity has it. Returns the id of the entity that has the name then. */
async function nameEntity(env: IdentityEnv, id: string, name: string): Promise<string> {
  const nameIt = async (insteadOf: string | null): Promise<string> =>
    (await attempted(env, (call) => identityOf(env).nameEntity(id, name, insteadOf, call))).answer;
  const holder = await nameIt(null);
  const isTaken = holder === id || (await findEntity(env, { id: holder })) !== null;
  return isTaken ? holder : nameIt(holder);
}

/**
 * Deletes entities with their aliases. Safe to repeat. Their shards come first, so that their tokens are refused even
 * after a crash. Entries in the directory and pointers that a crash leaves behind lead to no entity, and other entities
 * can replace them.
 * @returns the ids of the deleted entities, which can be logged. Other keys are unchecked text of the client.
 */
export async function deleteEntities(env: IdentityEnv, keys: readonly IdOrName[]): Promise<readonly string[]> {
  const named = await inGroups(keys, async (key) => {
    if ("id" in key) return key.id;
    // The directory also has the names of entities that are deleted.
    return (await findEntity(env, key))?.id ?? identityOf(env).entityOfName(key.name);
  });
  const ids = named.filter((id) => id !== null);
  const deleted = await askHomes(env, ids, async (home, here) => {
    const { answer, isRepetition } = await attempted(env, () => home.deleteEntities(here));
    if (!isRepetition) return answer;
    // An earlier attempt may have deleted them. What they left behind is not known then, as after a crash.
    return here.map((id) => answer.find((one) => one.id === id) ?? { id, aliases: [], mergedIds: [] });
  });
  const aliases = deleted.flatMap((entity) => entity.aliases);
  await inGroups(aliases, (alias) => releaseAlias(env, alias));
  const mergedIds = deleted.flatMap((entity) => entity.mergedIds);
  await inGroups([...Map.groupBy(mergedIds, shardOfEntity)], async ([shard, here]) => {
    if (shard !== null) await entityShard(env, shard).dropMerged(here, ids);
  });
  await identityOf(env).forgetEntities(ids);
  return deleted.map(({ id }) => id);
}

/** Creates or changes a group, see `Identity.writeGroup`. Checks first that its members exist. */
export async function writeGroup(env: IdentityEnv, id: string | null, write: GroupWrite): Promise<Result<Written>> {
  const ids = write.memberEntityIds ?? [];
  const existing = new Set(await askHomes(env, ids, (home, here) => home.existing(here)));
  if (!ids.every((member) => existing.has(member))) return refuse("member_entity_ids holds an id that is no entity");
  const now = currentTime();
  return changedOnce(env, (attempt) => identityOf(env).writeGroup(id, write, now, attempt));
}

const ALIAS_IS_CHANGING = unavailable("the alias is being changed; try again");

/**
 * Returns the entity that has an alias, and creates it with the alias when there is none. `newId` is an id for a new
 * entity, in the shard that the name of the alias leads to. Takes one call, or two when the entity is not in that
 * shard. A pointer to an entity that does not have the alias, or was deleted, was left behind by a crash, and is
 * replaced.
 */
export async function entityOfAlias(
  env: IdentityEnv,
  place: AliasPlace,
  given: AliasMetadata,
  newId: string,
): Promise<Result<EntityState>> {
  const now = currentTime();
  let instead: AliasOwner | null = null;
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    const found = await shardAt(env, place).logIn(place, given, newId, instead, now);
    if (!found.ok) return found;
    if ("state" in found.value) return ok(found.value.state);
    const { holder } = found.value;
    const there = await homeOf(env, holder.entityId)?.logInto(holder.entityId, place, given.metadata, now);
    if (there && !there.ok) return there;
    if (there?.value) return ok(there.value);
    instead = holder;
  }
  return err(ALIAS_IS_CHANGING);
}

const SECOND_ALIAS = invalid("Alias already exists for requested entity and mount accessor");
const ALIAS_NAME_TAKEN = invalid("alias with combination of mount accessor and name already exists");

/** The alias that a write created or changed, with all entities that have or had it; null when it changed nothing. */
type WrittenAlias = (Pick<AliasRecord, "id" | "entityId"> & { readonly entityIds: readonly string[] }) | null;

/** Creates or changes an alias, selected by id, or by name and mount. Messages: reference, identity/entity-alias. */
export async function writeAlias(
  env: IdentityEnv,
  id: string | null,
  write: AliasWrite,
): Promise<Result<WrittenAlias>> {
  const { name, mountAccessor, entityId } = write;
  if (id !== null) {
    const alias = await readAlias(env, id);
    return alias ? changeAlias(env, alias, write) : refuse("invalid alias ID provided");
  }
  if (name === null || mountAccessor === null) throw new Error("an alias without an id has a name and a mount");
  const place = { mountAccessor, name };
  const alias = await findAlias(env, place);
  if (alias) return changeAlias(env, alias, write);
  if (entityId === null) return addWithEntity(env, place, write);
  if (!(await findEntity(env, { id: entityId }))) return refuse("invalid canonical ID");
  const now = currentTime();
  const given = { metadata: {}, customMetadata: write.customMetadata ?? {} };
  return put(env, { ...place, ...given, id: newAliasId(entityId), entityId, createdAt: now, updatedAt: now }, null);
}

/**
 * Deletes an alias. Safe to repeat: a pointer that a crash leaves behind leads to an entity without the alias. Fails
 * with "unavailable" when other writes move the alias each time.
 * @returns the alias; null when there was none.
 */
export async function deleteAlias(env: IdentityEnv, id: string): Promise<Result<AliasRecord | null>> {
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    const alias = await readAlias(env, id);
    // Another write may have moved the alias since it was read.
    const isDropped = alias && (await dropAlias(env, alias));
    if (alias && isDropped) await releaseAlias(env, alias);
    if (!alias || isDropped) return ok(alias);
  }
  return err(ALIAS_IS_CHANGING);
}

/** Removes an alias from its entity. False when the entity does not have it. */
async function dropAlias(env: IdentityEnv, { id, entityId }: AliasRecord): Promise<boolean> {
  const dropped = await attempted(env, async (call) => homeOf(env, entityId)?.dropAlias(entityId, id, call));
  return dropped.answer === true;
}

/** Deletes the pointers to an alias after its entity has lost it. Safe to repeat. */
export async function releaseAlias(env: IdentityEnv, alias: AliasRecord): Promise<void> {
  await releasePlace(env, shardAt(env, alias), alias, alias.entityId);
  if (!isNative(alias)) await releaseId(env, alias);
}

/** Deletes the pointer from the id of an alias to its entity. */
async function releaseId(env: IdentityEnv, { id, entityId }: AliasRecord): Promise<void> {
  const shard = shardOfId(env, id);
  if (shard) await releasePlace(env, shard, { mountAccessor: BY_ALIAS_ID, name: id }, entityId);
}

async function releasePlace(
  env: IdentityEnv,
  shard: DurableObjectStub<EntityShard>,
  place: AliasPlace,
  entityId: string,
): Promise<void> {
  await attempted(env, (call) => shard.releaseAlias(place, entityId, call));
}

async function addWithEntity(env: IdentityEnv, place: AliasPlace, write: AliasWrite): Promise<Result<WrittenAlias>> {
  const newId = newEntityId(shardOfAlias(place));
  const given = { metadata: null, customMetadata: write.customMetadata ?? {} };
  const made = await entityOfAlias(env, place, given, newId);
  if (!made.ok) return made;
  const entityId = made.value.entity.id;
  if (entityId === newId) return ok({ id: firstAliasId(newId), entityId, entityIds: [entityId] });
  // A concurrent login or write created the alias first, so this write changes it.
  return writeAlias(env, null, write);
}

async function changeAlias(env: IdentityEnv, alias: AliasRecord, write: AliasWrite): Promise<Result<WrittenAlias>> {
  const changed: AliasRecord = {
    ...alias,
    name: write.name ?? alias.name,
    mountAccessor: write.mountAccessor ?? alias.mountAccessor,
    entityId: write.entityId ?? alias.entityId,
    customMetadata: write.customMetadata ?? alias.customMetadata,
    updatedAt: currentTime(),
  };
  const { name, mountAccessor, entityId } = alias;
  const isUnmoved = changed.name === name && changed.mountAccessor === mountAccessor && changed.entityId === entityId;
  if (isUnmoved && sameMetadata(changed.customMetadata, alias.customMetadata)) return ok(null);
  if (!(await findEntity(env, { id: changed.entityId }))) {
    return refuse("given 'canonical_id' is not associated with an entity");
  }
  const named = await findAlias(env, changed);
  if (named && named.id !== alias.id) return err(ALIAS_NAME_TAKEN);
  return put(env, changed, alias);
}

/**
 * Gives an entity an alias. The entity's shard (its home) and the shard of the name must agree. There are three steps,
 * and after each of them readers see the state before the write or after it:
 *
 * 1. the home reserves the alias, hidden;
 * 2. the shard of the name writes a pointer to the entity;
 * 3. the home activates the alias. Then the previous places of the alias are cleaned up.
 *
 * A reserved alias is valid as soon as the pointer leads to its entity. After a crash that follows the second step, the
 * next login activates it. After an earlier crash, the next write replaces the reservation.
 */
async function put(env: IdentityEnv, alias: AliasRecord, before: AliasRecord | null): Promise<Result<WrittenAlias>> {
  const { id, entityId, ...fields } = alias;
  const home = homeOf(env, entityId);
  const reserved = await home?.reserveAlias(entityId, { id, ...fields }, before?.entityId === entityId ? before : null);
  if (!home || !reserved || (reserved.ok && reserved.value === "changed")) return err(ALIAS_IS_CHANGING);
  if (!reserved.ok) return reserved;
  if (reserved.value === "another") return err(SECOND_ALIAS);
  if (!(await claim(env, shardAt(env, alias), alias, entityId, before))) {
    await home.dropReservedAlias(entityId, id);
    return err(ALIAS_NAME_TAKEN);
  }
  const byId = { mountAccessor: BY_ALIAS_ID, name: id };
  const shardOfItsId = shardOfId(env, id);
  if (shardOfItsId && !isNative(alias)) await claim(env, shardOfItsId, byId, entityId, before);
  if (!(await home.activateAlias(entityId, id))) {
    // The entity has ended, or lost its reservation. The name must lead back to where the alias still is.
    if (before) await leadBack(env, before, entityId);
    return err(ALIAS_IS_CHANGING);
  }
  if (before && before.entityId !== entityId) {
    await dropAlias(env, before);
    if (isNative(alias)) await releaseId(env, before);
  }
  if (before && !isSamePlace(before, alias)) await releasePlace(env, shardAt(env, before), before, before.entityId);
  return ok({ id, entityId, entityIds: [...new Set([entityId, before?.entityId ?? entityId])] });
}

/** Makes the name and the id of an alias lead to its entity again, after a move to another one has failed. */
async function leadBack(env: IdentityEnv, alias: AliasRecord, from: string): Promise<void> {
  const { id, entityId } = alias;
  if (entityId === from) return;
  const moved = { ...alias, entityId: from };
  await claim(env, shardAt(env, alias), alias, entityId, moved);
  const shardOfItsId = shardOfId(env, id);
  if (!shardOfItsId) return;
  if (isNative(alias)) await releaseId(env, moved);
  else await claim(env, shardOfItsId, { mountAccessor: BY_ALIAS_ID, name: id }, entityId, moved);
}

/** Makes the name of an alias lead to an entity. False when it leads to another entity that has the alias. */
async function claim(
  env: IdentityEnv,
  shard: DurableObjectStub<EntityShard>,
  place: AliasPlace,
  entityId: string,
  before: AliasRecord | null,
): Promise<boolean> {
  let instead: AliasOwner | null = null;
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    const holder = await shard.claimAlias(place, entityId, instead);
    if (!holder) return true;
    const gives = holder.entityId === before?.entityId;
    if (!gives && (await homeOf(env, holder.entityId)?.aliasAt(holder.entityId, place))) return false;
    instead = holder;
  }
  return false;
}

/** True when the alias still belongs to the entity for which its id was generated. */
function isNative({ id, entityId }: AliasRecord): boolean {
  return entityPrefixOf(id) === entityPrefixOf(entityId);
}
