import { attempted } from "../base/lost-call-retry.ts";
import { err, invalid, ok, type Result, unavailable } from "../base/result.ts";
import type { IdentityEnv } from "./env.ts";
import type { AliasPlace, AliasRecord } from "./model.ts";
import { findAlias } from "./read-entity.ts";
import { type AliasOwner, BY_ALIAS_ID } from "./shard/alias-pointers.ts";
import { isSamePlace } from "./shard/alias-rules.ts";
import type { EntityShard } from "./shard/entity-shard.ts";
import { entityPrefixOf } from "./shard/sharding.ts";
import { homeOf, shardAt, shardOfId } from "./stubs.ts";

/** Maximum number of attempts while other writes change what the name of an alias leads to. */
export const MAX_ALIAS_ATTEMPTS = 5;

export const ALIAS_IS_CHANGING = unavailable("the alias is being changed; try again");
export const ALIAS_NAME_TAKEN = invalid("alias with combination of mount accessor and name already exists");
const SECOND_ALIAS = invalid("Alias already exists for requested entity and mount accessor");

/** The alias that a write created or changed, with all entities that have or had it; null when it changed nothing. */
export type WrittenAlias = (Pick<AliasRecord, "id" | "entityId"> & { readonly entityIds: readonly string[] }) | null;

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
export async function giveAlias(
  env: IdentityEnv,
  alias: AliasRecord,
  before: AliasRecord | null,
): Promise<Result<WrittenAlias>> {
  const { id, entityId, ...fields } = alias;
  const home = homeOf(env, entityId);
  const left = before && !isSamePlace(before, alias) ? await pointerTo(env, before) : null;
  const reserved = await home?.reserveAlias(entityId, { id, ...fields }, before?.entityId === entityId ? before : null);
  if (!home || !reserved || (reserved.ok && reserved.value === "changed")) return err(ALIAS_IS_CHANGING);
  if (!reserved.ok) return reserved;
  if (reserved.value === "another") return err(SECOND_ALIAS);
  if (!(await claim(env, shardAt(env, alias), alias, entityId, before))) {
    await home.dropReservedAlias(entityId, id);
    // Another write may have moved this alias to the entity that has the name.
    return err((await findAlias(env, alias))?.id === id ? ALIAS_IS_CHANGING : ALIAS_NAME_TAKEN);
  }
  const byId = { mountAccessor: BY_ALIAS_ID, name: id };
  const shardOfItsId = shardOfId(env, id);
  if (shardOfItsId && !isNative(alias)) await claim(env, shardOfItsId, byId, entityId, before);
  if (!(await home.activateAlias(entityId, id, alias))) {
    // The entity has ended, or lost its reservation. The name must lead back to where the alias still is.
    if (before) await leadBack(env, before, entityId);
    return err(ALIAS_IS_CHANGING);
  }
  if (before && before.entityId !== entityId) {
    if (!(await dropAlias(env, before, "as read"))) {
      // Another write has changed or deleted it there, and was answered.
      await dropAlias(env, alias);
      await leadBack(env, before, entityId);
      return err(ALIAS_IS_CHANGING);
    }
    if (isNative(alias)) await releaseId(env, before);
  }
  if (left) await releasePointer(env, left);
  return ok({ id, entityId, entityIds: [...new Set([entityId, before?.entityId ?? entityId])] });
}

/** Makes the name and the id of an alias lead to its entity again, after a move to another one has failed. */
async function leadBack(env: IdentityEnv, alias: AliasRecord, from: string): Promise<void> {
  const { id, entityId } = alias;
  if (entityId === from) return;
  // Another write has moved it there.
  if (await homeOf(env, from)?.aliasAt(from, alias)) return;
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
  for (let attempt = 1; attempt <= MAX_ALIAS_ATTEMPTS; attempt++) {
    const holder = await shard.claimAlias(place, entityId, instead);
    if (!holder) return true;
    const gives = holder.entityId === before?.entityId;
    if (!gives && (await homeOf(env, holder.entityId)?.aliasAt(holder.entityId, place))) return false;
    instead = holder;
  }
  return false;
}

/** Removes an alias from its entity. False when the entity does not have it, or not any more "as read". */
export async function dropAlias(env: IdentityEnv, alias: AliasRecord, which?: "as read"): Promise<boolean> {
  const { id, entityId } = alias;
  const asRead = which && alias;
  const dropped = await attempted(env, async (call) => homeOf(env, entityId)?.dropAlias(entityId, id, call, asRead));
  return dropped.answer === true;
}

/** The pointer from the name of an alias to its entity. */
interface AliasPointer {
  readonly alias: AliasRecord;
  readonly owner: AliasOwner;
}

/** Finds the pointer to an alias, before its entity loses it; null when the name leads there without one. */
export async function pointerTo(env: IdentityEnv, alias: AliasRecord): Promise<AliasPointer | null> {
  const owner = await shardAt(env, alias).aliasHolder(alias);
  return owner?.entityId === alias.entityId && owner.claim !== null ? { alias, owner } : null;
}

/** Deletes a pointer, unless another write has made the name lead to the same entity again. Safe to repeat. */
export async function releasePointer(env: IdentityEnv, { alias, owner }: AliasPointer): Promise<void> {
  await releasePlace(env, shardAt(env, alias), alias, alias.entityId, owner);
}

/** Deletes the pointers to an alias of an entity that has ended. Safe to repeat. */
export async function releaseAlias(env: IdentityEnv, alias: AliasRecord): Promise<void> {
  await releasePlace(env, shardAt(env, alias), alias, alias.entityId);
  await releaseMovedId(env, alias);
}

/** Deletes the pointer from the id of an alias to its entity, if it has one. */
export async function releaseMovedId(env: IdentityEnv, alias: AliasRecord): Promise<void> {
  if (!isNative(alias)) await releaseId(env, alias);
}

async function releaseId(env: IdentityEnv, { id, entityId }: AliasRecord): Promise<void> {
  const shard = shardOfId(env, id);
  if (shard) await releasePlace(env, shard, { mountAccessor: BY_ALIAS_ID, name: id }, entityId);
}

async function releasePlace(
  env: IdentityEnv,
  shard: DurableObjectStub<EntityShard>,
  place: AliasPlace,
  entityId: string,
  seen?: AliasOwner,
): Promise<void> {
  await attempted(env, (call) => shard.releaseAlias(place, entityId, call, seen));
}

/** True when the alias still belongs to the entity for which its id was generated. */
function isNative({ id, entityId }: AliasRecord): boolean {
  return entityPrefixOf(id) === entityPrefixOf(entityId);
}
