import { currentTime } from "../base/clock.ts";
import { err, ok, type Result, refuse } from "../base/result.ts";
import {
  ALIAS_IS_CHANGING,
  ALIAS_NAME_TAKEN,
  dropAlias,
  giveAlias,
  MAX_ALIAS_ATTEMPTS,
  pointerTo,
  releaseMovedId,
  releasePointer,
  type WrittenAlias,
} from "./alias-steps.ts";
import { entityOfAlias } from "./entity-of-alias.ts";
import type { IdentityEnv } from "./env.ts";
import type { AliasPlace, AliasRecord, AliasWrite } from "./model.ts";
import { findAlias, findEntity, readAlias } from "./read-entity.ts";
import { sameMetadata } from "./shard/alias-rules.ts";
import { firstAliasId, newAliasId, newEntityId, shardOfAlias } from "./shard/sharding.ts";

/**
 * Creates or changes an alias, selected by id, or by name and mount. A write begins again when another one has changed the
 * alias since it was read: neither undoes the other. Messages: reference, identity/entity-alias.
 */
export async function writeAlias(
  env: IdentityEnv,
  id: string | null,
  write: AliasWrite,
): Promise<Result<WrittenAlias>> {
  for (let attempt = 1; attempt <= MAX_ALIAS_ATTEMPTS; attempt++) {
    const written = await tryToWrite(env, id, write);
    if (written.ok || written.error !== ALIAS_IS_CHANGING) return written;
  }
  return err(ALIAS_IS_CHANGING);
}

async function tryToWrite(env: IdentityEnv, id: string | null, write: AliasWrite): Promise<Result<WrittenAlias>> {
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
  return giveAlias(
    env,
    { ...place, ...given, id: newAliasId(entityId), entityId, createdAt: now, updatedAt: now },
    null,
  );
}

/**
 * Deletes an alias. Safe to repeat: a pointer that a crash leaves behind leads to an entity without the alias. Fails
 * with "unavailable" when other writes move the alias each time.
 * @returns the alias; null when there was none.
 */
export async function deleteAlias(env: IdentityEnv, id: string): Promise<Result<AliasRecord | null>> {
  for (let attempt = 1; attempt <= MAX_ALIAS_ATTEMPTS; attempt++) {
    const alias = await readAlias(env, id);
    if (!alias) return ok(null);
    const pointer = await pointerTo(env, alias);
    // Another write may have moved the alias since it was read.
    if (!(await dropAlias(env, alias))) continue;
    if (pointer) await releasePointer(env, pointer);
    await releaseMovedId(env, alias);
    return ok(alias);
  }
  return err(ALIAS_IS_CHANGING);
}

async function addWithEntity(env: IdentityEnv, place: AliasPlace, write: AliasWrite): Promise<Result<WrittenAlias>> {
  const newId = newEntityId(shardOfAlias(place));
  const given = { metadata: null, customMetadata: write.customMetadata ?? {} };
  const made = await entityOfAlias(env, place, given, newId);
  if (!made.ok) return made;
  const entityId = made.value.entity.id;
  if (entityId === newId) return ok({ id: firstAliasId(newId), entityId, entityIds: [entityId] });
  // A concurrent login or write created the alias first, so the next attempt changes it.
  return err(ALIAS_IS_CHANGING);
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
  return giveAlias(env, changed, alias);
}
