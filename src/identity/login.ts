import { currentTime } from "../base/clock.ts";
import { DENIED, type Failure } from "../base/errors.ts";
import { GenerationalCache } from "../base/generational-cache.ts";
import { nameKey } from "../base/name.ts";
import { err, ok, type Result } from "../base/result.ts";
import type { Env } from "../env.ts";
import { sameMetadata } from "./alias-store.ts";
import { identityOf } from "./identity.ts";
import { beginAskingForGroups, freshGroupsState, learnGroups } from "./known-groups.ts";
import type { EntityView, Metadata, NewEntityIds, OwnEntityState } from "./model.ts";
import { newEntityIds } from "./rules.ts";
import type { Elsewhere } from "./shard/login-store.ts";
import { drawEntityId, shardOfAlias } from "./shard/place.ts";
import { entityShard } from "./shard/stub.ts";
import { beginAskingForEntity, freshEntity, learnEntity, loadEntity } from "./standing.ts";

/** Aliases in one generation of what an isolate remembers. */
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

/** What came of the last login by an alias in this isolate. */
interface LastLogin {
  /** True when `Identity` has the alias: it does for good. */
  readonly isHandedOver: boolean;
  readonly entityId: string;
  /** The groups that the method said; null when it said none. */
  readonly said: SaidGroups | null;
}

/** What a method said at a login about groups, and what came of it. */
interface SaidGroups {
  readonly names: readonly string[];
  /** The state of all groups then. */
  readonly state: number;
  /** Ids of the groups that the entity was in afterwards. */
  readonly groupIds: readonly string[];
}

const lastLogins = new GenerationalCache<string, LastLogin>(MAX_ALIASES);

/**
 * The entity of whoever logged in, made at the first login. Its id goes on the token. An isolate that knows the entity, no older
 * than POLICY_CACHE_SECONDS, asks nobody when the login would change nothing of it.
 *
 * @returns "permission_denied" when the entity is disabled, or something of it was tampered with.
 */
export async function entityForLogin(env: Env, alias: LoginAlias): Promise<Result<EntityView, Failure>> {
  const view = freshForLogin(env, alias) ?? (await askForEntity(env, alias));
  return view && !view.disabled ? ok(view) : err(DENIED);
}

/**
 * What a login by the alias would find: the id of its entity, null when the login would make one. Changes nothing.
 *
 * @returns "permission_denied" when the entity is disabled.
 */
export async function findEntityForLogin(
  env: Env,
  { mountAccessor, aliasName }: Pick<LoginAlias, "mountAccessor" | "aliasName">,
): Promise<Result<string | null, Failure>> {
  const found = await identityOf(env).readEntity({ mountAccessor, aliasName });
  return found?.disabled ? err(DENIED) : ok(found?.id ?? null);
}

/** The entity of the alias as this isolate knows it; null when it has to be asked for, or the login would change it. */
function freshForLogin(env: Env, alias: LoginAlias): EntityView | null {
  const last = lastLogins.get(keyOf(alias));
  const view = last ? freshEntity(env, last.entityId) : null;
  return view && isNothingNew(env, alias, view) ? view : null;
}

/** True when a login by the alias would find the entity and change nothing of it. */
function isNothingNew(env: Env, alias: LoginAlias, view: EntityView): boolean {
  const held = view.entity.aliases[alias.mountAccessor];
  if (!held || nameKey(held.name) !== nameKey(alias.aliasName)) return false;
  if (alias.metadata && !sameMetadata(held.metadata, alias.metadata)) return false;
  if (alias.groups === undefined) return true;
  // Of the groups of mounts it is in those that its last login said, as long as no group has changed and it is in the same ones.
  const said = lastLogins.get(keyOf(alias))?.said ?? null;
  return said !== null && isSaidAgain(env, alias.groups, said) && sameNames(groupIdsOf(view), said.groupIds);
}

/** True when a login says no groups, or those of the last one while no group has changed. */
function isSaidAgain(env: Env, groups: readonly string[] | undefined, said: SaidGroups | null): boolean {
  if (groups === undefined) return true;
  return said !== null && said.state === freshGroupsState(env) && sameNames(groups, said.names);
}

async function askForEntity(env: Env, alias: LoginAlias): Promise<EntityView | null> {
  const last = lastLogins.get(keyOf(alias));
  const ids = newEntityIds();
  if (last?.isHandedOver) return askForHandedOver(env, alias, last.entityId, ids);
  const asking = beginAskingForEntity(last?.entityId ?? null);
  const found = await askShard(env, alias, ids);
  if (!found) return null;
  if ("holder" in found) return askForHandedOver(env, alias, found.holder, ids);
  const view = await learnEntity(env, found, asking);
  return view && remember(alias, view, false, null);
}

/** Asks the shard of the alias for its entity. Groups are with `Identity`: whoever comes with some is handed over. */
async function askShard(env: Env, alias: LoginAlias, ids: NewEntityIds): Promise<OwnEntityState | Elsewhere | null> {
  const { mountAccessor, aliasName, metadata, groups } = alias;
  const number = shardOfAlias(mountAccessor, aliasName);
  const shard = entityShard(env, number);
  return groups === undefined
    ? shard.logIn(mountAccessor, aliasName, metadata, drawEntityId(number), currentTime())
    : shard.handOverAlias(mountAccessor, aliasName, ids.entityId);
}

/**
 * The entity of an alias that `Identity` has. `Identity` is asked only where the login may change something.
 *
 * @param holder the entity that it probably is; that of `ids` when the alias is new; null when nobody knows.
 */
async function askForHandedOver(
  env: Env,
  alias: LoginAlias,
  holder: string | null,
  ids: NewEntityIds,
): Promise<EntityView | null> {
  const { mountAccessor, aliasName, metadata, groups } = alias;
  const said = lastLogins.get(keyOf(alias))?.said ?? null;
  if (holder !== null && holder !== ids.entityId && isSaidAgain(env, groups, said)) {
    const view = await loadEntity(env, holder);
    if (view && isNothingNew(env, alias, view)) return remember(alias, view, true, said);
  }
  const [asking, askingForGroups] = [beginAskingForEntity(holder), beginAskingForGroups()];
  const now = currentTime();
  const found = await identityOf(env).logIn(mountAccessor, aliasName, metadata, groups ?? null, ids, now);
  if (!found) return null;
  const { id } = found.entity.entity;
  learnGroups(found.groups, found.entity.groupIds, askingForGroups);
  const view = await learnEntity(env, found.entity, asking);
  if (id !== holder)
    await entityShard(env, shardOfAlias(mountAccessor, aliasName)).noteHolder(mountAccessor, aliasName, id);
  if (!view) return null;
  const saidNow = groups ? { names: groups, state: found.groups.state, groupIds: groupIdsOf(view) } : null;
  return remember(alias, view, true, saidNow);
}

function remember(alias: LoginAlias, view: EntityView, isHandedOver: boolean, said: SaidGroups | null): EntityView {
  lastLogins.set(keyOf(alias), { isHandedOver, entityId: view.entity.id, said }, 1);
  return view;
}

/** Sorted, as views have them. */
function groupIdsOf(view: EntityView): string[] {
  return view.groups.map(({ id }) => id);
}

function keyOf({ mountAccessor, aliasName }: LoginAlias): string {
  return JSON.stringify([mountAccessor, nameKey(aliasName)]);
}

function sameNames(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((name, at) => name === b[at]);
}
