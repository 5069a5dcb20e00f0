import { currentTime } from "../base/clock.ts";
import { GenerationalCache } from "../base/generational-cache.ts";
import { nameKey } from "../base/name.ts";
import { DENIED, err, ok, type Result } from "../base/result.ts";
import { entityOfAlias } from "./alias-writes.ts";
import { findEntity } from "./entities.ts";
import type { IdentityEnv } from "./env.ts";
import { loadGroups, policiesWith } from "./groups.ts";
import type { AliasPlace, EntityState, EntityView, Metadata } from "./model.ts";
import { sameMetadata } from "./shard/entity.ts";
import { drawEntityId, shardOfAlias } from "./shard/place.ts";
import { beginReading, forgetEntity, freshState, learnEntity, loadState, loadView } from "./standing.ts";
import { identityOf } from "./stubs.ts";

/** Aliases in one generation of those whose entities an isolate remembers. */
const MAX_ALIASES = 1024;
/** Whom a login is for: the name that the auth mount knows the holder by. */
export interface LoginAlias {
  /** Accessor of the mount. */
  readonly mountAccessor: string;
  /** Compared without regard to case. */
  readonly aliasName: string;
  /** What the method says about the holder, for templates; null when it says nothing. */
  readonly metadata: Metadata | null;
  /** Names of the groups that the method says the holder is in; absent when it knows no groups. */
  readonly groups?: readonly string[];
}

/** The ids of the entities of aliases. Whether one still has the alias, its copy says. */
const holders = new GenerationalCache<string, string>(MAX_ALIASES);

/**
 * The entity of the client that logged in, made at its first login. Its id goes on the token. An isolate that knows the entity, no
 * older than POLICY_CACHE_SECONDS, makes no call when the login would change nothing of it.
 *
 * @returns "permission_denied" when the entity is disabled, or something of it was tampered with.
 */
export async function entityForLogin(env: IdentityEnv, alias: LoginAlias): Promise<Result<EntityView>> {
  const known = freshForLogin(env, alias);
  const found = known ? ok(known) : await askForEntity(env, alias);
  if (!found.ok) return found;
  const state = found.value.disabled ? null : await withLoginGroups(env, found.value, alias);
  const view = state && (await loadView(env, state));
  return view && !view.disabled ? ok(view) : err(DENIED);
}

/** The entity that a login would find. */
export interface FoundEntity {
  /** null when the login would make it. */
  readonly id: string | null;
  /** What it adds to those of the token, with its groups as the login would leave them. */
  readonly policies: readonly string[];
}

/**
 * What a login by the alias would find. Changes nothing.
 *
 * @returns "permission_denied" when the entity is disabled, or a group of it was tampered with.
 */
export async function findEntityForLogin(
  env: IdentityEnv,
  { mountAccessor, aliasName, groups: names }: Omit<LoginAlias, "metadata">,
): Promise<Result<FoundEntity>> {
  const found = await findEntity(env, { mountAccessor, aliasName });
  if (found?.disabled) return err(DENIED);
  const held = found?.directGroupIds ?? [];
  const groups = held.length > 0 || names?.length ? await loadGroups(env) : null;
  const groupIds = groups && names ? groups.afterLogin(mountAccessor, names, held) : held;
  const policies = policiesWith(found?.policies ?? [], groups?.above(groupIds) ?? []);
  return policies ? ok({ id: found?.id ?? null, policies }) : err(DENIED);
}

/** The entity of the alias as this isolate knows it; null when it has to be asked for, or the login would change the alias. */
function freshForLogin(env: IdentityEnv, { mountAccessor, aliasName, metadata }: LoginAlias): EntityState | null {
  const holder = holders.get(keyOf({ mountAccessor, name: aliasName }));
  const state = holder === undefined ? null : freshState(env, holder);
  const held = state?.entity.aliases[mountAccessor];
  if (!held || nameKey(held.name) !== nameKey(aliasName)) return null;
  return metadata === null || sameMetadata(held.metadata, metadata) ? state : null;
}

/** Asks the shards for the entity, and remembers it. */
async function askForEntity(
  env: IdentityEnv,
  { mountAccessor, aliasName, metadata }: LoginAlias,
): Promise<Result<EntityState>> {
  const place = { mountAccessor, name: aliasName };
  const newId = drawEntityId(shardOfAlias(place));
  const reading = beginReading();
  const found = await entityOfAlias(env, place, { metadata, customMetadata: {} }, newId, currentTime());
  if (!found.ok) return found;
  learnEntity(found.value, reading);
  holders.set(keyOf(place), found.value.entity.id, 1);
  return found;
}

/** The entity after it was made a member of the external groups that the method names, and of no other ones of the mount. */
async function withLoginGroups(
  env: IdentityEnv,
  state: EntityState,
  { mountAccessor, groups: names }: LoginAlias,
): Promise<EntityState | null> {
  if (names === undefined || (names.length === 0 && state.groupIds.length === 0)) return state;
  const groups = await loadGroups(env);
  if (groups.areThoseOf(mountAccessor, names, state.groupIds)) return state;
  const { id } = state.entity;
  await identityOf(env).setLoginGroups(id, mountAccessor, names);
  forgetEntity(id);
  return loadState(env, id);
}

function keyOf({ mountAccessor, name }: AliasPlace): string {
  return JSON.stringify([mountAccessor, nameKey(name)]);
}
