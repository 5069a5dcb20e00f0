import { currentTime } from "../base/clock.ts";
import { DENIED, type Failure } from "../base/errors.ts";
import { err, ok, type Result } from "../base/result.ts";
import type { Env } from "../env.ts";
import { identityOf } from "./identity.ts";
import type { EntityView, Metadata } from "./model.ts";
import { newEntityIds } from "./rules.ts";
import { forgetEntities } from "./standing.ts";

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

/**
 * The entity of whoever logged in, made at the first login. Its id goes on the token.
 *
 * @returns "permission_denied" when the entity is disabled, or something of it was tampered with.
 */
export async function entityForLogin(env: Env, alias: LoginAlias): Promise<Result<EntityView, Failure>> {
  const { mountAccessor, aliasName, metadata, groups = null } = alias;
  const view = await identityOf(env).resolveAlias(
    mountAccessor,
    aliasName,
    metadata,
    groups,
    newEntityIds(),
    currentTime(),
  );
  // Its groups may have changed just now, and with them what its tokens may do.
  if (groups) forgetEntities();
  return view && !view.disabled ? ok(view) : err(DENIED);
}
