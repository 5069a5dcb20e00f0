import { currentTime } from "../base/clock.ts";
import { DENIED, type Failure } from "../base/errors.ts";
import { GenerationalCache } from "../base/generational-cache.ts";
import { nameKey } from "../base/name.ts";
import { err, ok, type Result } from "../base/result.ts";
import type { Env } from "../env.ts";
import { sameMetadata } from "./alias-store.ts";
import { identityOf } from "./identity.ts";
import type { EntityView, Metadata } from "./model.ts";
import { newEntityIds } from "./rules.ts";
import { type Elsewhere, entityShard } from "./shard/entity-shard.ts";
import { drawEntityId, shardOfAlias } from "./shard/place.ts";
import { freshEntity, learnEntity } from "./standing.ts";

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
  /** Of the entity, after the login. */
  readonly revision: string;
  /** The groups that the method said. */
  readonly groups: readonly string[] | undefined;
}

const lastLogins = new GenerationalCache<string, LastLogin>(MAX_ALIASES);

/**
 * The entity of whoever logged in, made at the first login. Its id goes on the token. An isolate that knows the entity, no older
 * than POLICY_CACHE_SECONDS, asks nobody when the login would change nothing of it.
 *
 * @returns "permission_denied" when the entity is disabled, or something of it was tampered with.
 */
export async function entityForLogin(env: Env, alias: LoginAlias): Promise<Result<EntityView, Failure>> {
  const view = knownEntity(env, alias) ?? (await askForEntity(env, alias));
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
function knownEntity(env: Env, alias: LoginAlias): EntityView | null {
  const last = lastLogins.get(keyOf(alias));
  const view = last ? freshEntity(env, last.entityId) : null;
  const held = view?.entity.aliases[alias.mountAccessor];
  if (!last || !view || !held || nameKey(held.name) !== nameKey(alias.aliasName)) return null;
  if (alias.metadata && !sameMetadata(held.metadata, alias.metadata)) return null;
  // As long as nothing has changed the entity is in the groups that its last login said.
  const sameGroups = view.revision === last.revision && sameNames(alias.groups ?? [], last.groups ?? []);
  return alias.groups === undefined || (last.groups !== undefined && sameGroups) ? view : null;
}

async function askForEntity(env: Env, alias: LoginAlias): Promise<EntityView | null> {
  const key = keyOf(alias);
  const last = lastLogins.get(key);
  let isHandedOver = last?.isHandedOver ?? false;
  const view = await learnEntity(last?.entityId ?? null, async () => {
    const found = isHandedOver ? "elsewhere" : await askShard(env, alias);
    if (found !== "elsewhere") return found;
    isHandedOver = true;
    const { mountAccessor, aliasName, metadata, groups } = alias;
    return identityOf(env).login(mountAccessor, aliasName, metadata, groups ?? null, newEntityIds(), currentTime());
  });
  if (view) {
    lastLogins.set(key, { isHandedOver, entityId: view.entity.id, revision: view.revision, groups: alias.groups }, 1);
  }
  return view;
}

/** Asks the shard of the alias for its entity. Groups are with `Identity`: whoever comes with some is handed over. */
async function askShard(env: Env, alias: LoginAlias): Promise<EntityView | Elsewhere | null> {
  const { mountAccessor, aliasName, metadata, groups } = alias;
  const number = shardOfAlias(mountAccessor, aliasName);
  const shard = entityShard(env, number);
  if (groups === undefined) return shard.login(mountAccessor, aliasName, metadata, drawEntityId(number), currentTime());
  await shard.handOverAlias(mountAccessor, aliasName);
  return "elsewhere";
}

function keyOf({ mountAccessor, aliasName }: LoginAlias): string {
  return JSON.stringify([mountAccessor, nameKey(aliasName)]);
}

function sameNames(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((name, at) => name === b[at]);
}
