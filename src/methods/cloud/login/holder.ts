import { type IssuedLogin, issueLogin } from "../../../auth/login.ts";
import type { Failure } from "../../../base/errors.ts";
import type { Result } from "../../../base/result.ts";
import { entityForLogin } from "../../../identity/login.ts";
import { mountTypeOf } from "../mount.ts";
import { translateMetadata } from "../vocabulary.ts";
import type { Attempt } from "./attempt.ts";
import type { Metadata } from "./metadata.ts";
import type { RoleTerms } from "./terms.ts";

/** A holder that was verified, and what the method says about it. */
export interface Holder {
  readonly terms: RoleTerms;
  /** The name that the mount knows the holder by. */
  readonly alias: string;
  /** Told to clients, in the inner vocabulary. */
  readonly metadata: Metadata;
  /** The chosen part of it, kept with the alias. */
  readonly aliasMetadata: Metadata;
  readonly displayName: string;
  /** What renewal wants to know again. */
  readonly internal: Metadata;
}

/**
 * Gives a verified holder its token: the last step of every login.
 *
 * @returns "permission_denied" when an operator has disabled the entity of the holder.
 */
export async function issueToHolder(attempt: Attempt, holder: Holder): Promise<Result<IssuedLogin, Failure>> {
  const { env, installation, mount } = attempt;
  const type = mountTypeOf(mount);
  const entity = await entityForLogin(env, {
    mountAccessor: mount.accessor,
    aliasName: holder.alias,
    metadata: translateMetadata(type, holder.aliasMetadata),
  });
  if (!entity.ok) return entity;
  return issueLogin(env, installation, mount, {
    ...holder.terms,
    displayName: holder.displayName,
    metadata: translateMetadata(type, holder.metadata),
    entityId: entity.value.entity.id,
    internal: holder.internal,
  });
}
