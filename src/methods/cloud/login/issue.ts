import { type IssuedLogin, issueLogin } from "../../../auth/login.ts";
import type { Failure } from "../../../base/errors.ts";
import type { Result } from "../../../base/result.ts";
import { entityForLogin } from "../../../identity/login.ts";
import type { Metadata } from "../config/identity.ts";
import { mountTypeOf } from "../mount.ts";
import { translateMetadata } from "../vocabulary.ts";
import type { Attempt } from "./attempt.ts";
import type { RoleTerms } from "./terms.ts";

/** What the method says about a client that it verified. */
export interface VerifiedLogin {
  readonly terms: RoleTerms;
  /** The name that the mount knows the client by. */
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
 * Gives a verified client its token: the last step of every login.
 *
 * @returns "permission_denied" when an operator has disabled the entity of the client.
 */
export async function issueVerifiedLogin(
  attempt: Attempt,
  login: VerifiedLogin,
): Promise<Result<IssuedLogin, Failure>> {
  const { env, installation, mount } = attempt;
  const type = mountTypeOf(mount);
  const entity = await entityForLogin(env, {
    mountAccessor: mount.accessor,
    aliasName: login.alias,
    metadata: translateMetadata(type, login.aliasMetadata),
  });
  if (!entity.ok) return entity;
  return issueLogin(env, installation, mount, {
    ...login.terms,
    displayName: login.displayName,
    metadata: translateMetadata(type, login.metadata),
    entityId: entity.value.entity.id,
    internal: login.internal,
  });
}
