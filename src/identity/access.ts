import { currentTime } from "../base/clock.ts";
import type { Failure } from "../base/errors.ts";
import { ok, type Result } from "../base/result.ts";
import type { Acl } from "../policy/acl.ts";
import { normalizePolicyNames } from "../policy/name.ts";
import type { Installation } from "../system/installation.ts";
import type { IdentityEnv } from "./env.ts";
import type { EntityView } from "./model.ts";
import { loadActiveEntity } from "./standing.ts";

/** The policies of a token and, while it has one, of its entity. */
interface TokenPolicies {
  readonly policies: readonly string[];
  readonly entityId: string;
}

/** The rules that hold now for a token. A refusal when its entity is disabled or gone. */
export async function aclOfToken(
  env: IdentityEnv,
  installation: Installation,
  token: TokenPolicies,
): Promise<Result<Acl, Failure>> {
  const entity = await loadActiveEntity(env, token.entityId);
  return entity.ok ? ok(aclOf(installation, token.policies, entity.value, currentTime())) : entity;
}

/**
 * The rules of a token and of its entity.
 *
 * @param entity what the entity adds, as `loadActiveEntity` gives it; null without one.
 * @param now ms.
 */
export function aclOf(
  installation: Pick<Installation, "aclFor">,
  tokenPolicies: readonly string[],
  entity: EntityView | null,
  now: number,
): Acl {
  const added = entity?.policies ?? [];
  const names = added.length === 0 ? tokenPolicies : normalizePolicyNames([...tokenPolicies, ...added]);
  return installation.aclFor(names, entity, now);
}
