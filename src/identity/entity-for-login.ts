import { nameKey } from "../base/case-folding.ts";
import { GenerationalCache } from "../base/generational-cache.ts";
import { attempted } from "../base/lost-call-retry.ts";
import { DENIED, err, type Failure, ok, type Result } from "../base/result.ts";
import { maxCopyAgeMs } from "../system/copy-age.ts";
import { aliasKey, entityCopies, loadGroups, loadState, loadView, policiesWith } from "./entity-copies.ts";
import { entityOfAlias } from "./entity-of-alias.ts";
import type { IdentityEnv } from "./env.ts";
import type { AliasPlace, EntityMetadata, EntityState, EntityView } from "./model.ts";
import { findEntity } from "./read-entity.ts";
import { sameMetadata } from "./shard/alias-rules.ts";
import { newEntityId, shardOfAlias } from "./shard/sharding.ts";
import { identityOf } from "./stubs.ts";

/** Maximum number of aliases in one generation of the cache. */
const MAX_ALIASES = 1024;

/** The alias of a login: the name by which the auth mount knows the client. */
export interface LoginAlias extends AliasPlace {
  /** Metadata of the client from the method, for policy templates; null when the method gives none. */
  readonly metadata: EntityMetadata | null;
  /** Names of the client's groups from the method; absent when the method has no groups. */
  readonly groups?: readonly string[];
}

/** The refusal of a login, with the id of its entity; "" when that is not known. */
interface RefusedLogin {
  readonly failure: Failure;
  readonly entityId: string;
}

/** Ids of entities by alias. An entry may be stale: the copy of the entity shows whether it still has the alias. */
const holders = new GenerationalCache<string, string>(MAX_ALIASES);

/**
 * Returns the entity of a client that logs in, and creates it at the first login. The token gets the id of the entity.
 * No call is made when this isolate has a copy of the entity (at most POLICY_CACHE_SECONDS old) and the login changes
 * nothing in it. "permission_denied" when the entity is disabled, or when its row or that of a group was tampered with.
 */
export async function entityForLogin(env: IdentityEnv, alias: LoginAlias): Promise<Result<EntityView, RefusedLogin>> {
  const known = freshForLogin(env, alias);
  const found = known ? ok(known) : await askForEntity(env, alias);
  if (!found.ok) return err({ failure: found.error, entityId: "" });
  const state = found.value.disabled ? null : await withLoginGroups(env, found.value, alias);
  const view = state && (await loadView(env, state));
  return view && !view.disabled ? ok(view) : err({ failure: DENIED, entityId: found.value.entity.id });
}

/**
 * Returns the entity that a login with the alias would get, or its refusal. Changes nothing. The id is null when the
 * login would create the entity. The policies include those of its groups after the login.
 */
export async function findEntityForLogin(
  env: IdentityEnv,
  { mountAccessor, name, groups: names }: Omit<LoginAlias, "metadata">,
): Promise<Result<{ readonly id: string | null; readonly policies: readonly string[] }>> {
  const found = await findEntity(env, { mountAccessor, name });
  if (found?.disabled) return err(DENIED);
  const held = found?.directGroupIds ?? [];
  const groups = held.length > 0 || names?.length ? await loadGroups(env) : null;
  const groupIds = groups && names ? [...groups.afterLogin(mountAccessor, names, held)] : held;
  const policies = policiesWith(found?.policies ?? [], groups?.above(groupIds) ?? []);
  return policies ? ok({ id: found?.id ?? null, policies }) : err(DENIED);
}

/** Returns this isolate's copy of the alias's entity; null without a fresh copy, or if the login changes the alias. */
function freshForLogin(env: IdentityEnv, { mountAccessor, name, metadata }: LoginAlias): EntityState | null {
  const holder = holders.get(aliasKey({ mountAccessor, name }));
  const state = holder === undefined ? null : (entityCopies.find(holder, maxCopyAgeMs(env)) ?? null);
  const held = state?.entity.aliases[mountAccessor];
  if (!held || nameKey(held.name) !== nameKey(name)) return null;
  return metadata === null || sameMetadata(held.metadata, metadata) ? state : null;
}

async function askForEntity(env: IdentityEnv, { mountAccessor, name, metadata }: LoginAlias) {
  const place = { mountAccessor, name };
  const newId = newEntityId(shardOfAlias(place));
  const reading = entityCopies.begin();
  const found = await entityOfAlias(env, place, { metadata, customMetadata: {} }, newId);
  if (!found.ok) return found;
  const { id } = found.value.entity;
  entityCopies.keep(id, found.value, reading);
  holders.set(aliasKey(place), id, 1);
  return found;
}

/** Sets the entity's external groups of the mount to the groups that the method names. null for a deleted entity. */
async function withLoginGroups(
  env: IdentityEnv,
  state: EntityState,
  { mountAccessor, groups: names }: Pick<LoginAlias, "mountAccessor" | "groups">,
): Promise<EntityState | null> {
  if (names === undefined || (names.length === 0 && state.groupIds.length === 0)) return state;
  const after = (await loadGroups(env)).afterLogin(mountAccessor, names, state.groupIds);
  if (after.size === state.groupIds.length && state.groupIds.every((id) => after.has(id))) return state;
  const { id } = state.entity;
  await attempted(env, (attempt) => identityOf(env).setLoginGroups(id, mountAccessor, names, attempt));
  entityCopies.forget(id);
  const written = await loadState(env, id);
  if (written === null || written.entity.id === id) return written;
  // It was merged into another entity meanwhile, which may not have the groups of this login.
  return withLoginGroups(env, written, { mountAccessor, groups: names });
}
