import { currentTime } from "../base/clock.ts";
import { DENIED, type Failure } from "../base/errors.ts";
import { err, ok, type Result } from "../base/result.ts";
import type { Env } from "../env.ts";
import type { AccessRequest, Acl, Verdict } from "../policy/acl.ts";
import { evaluateAcl } from "../policy/evaluate.ts";
import { normalizePolicyNames } from "../policy/name.ts";
import type { Installation } from "../system/installation.ts";
import type { EntityView } from "./model.ts";
import { loadActiveEntity } from "./standing.ts";

/** The policies of a token and, while it has one, of its entity. */
interface TokenPolicies {
  readonly policies: readonly string[];
  readonly entityId: string;
}

/**
 * Lets the policies of a caller decide about a request.
 *
 * @param entity what the caller's entity adds, as `loadActiveEntity` gives it.
 * @param now ms.
 * @returns what is granted on the path, or "permission_denied".
 */
export function authorize(
  installation: Installation,
  caller: Pick<TokenPolicies, "policies">,
  entity: EntityView | null,
  request: AccessRequest,
  now: number,
): Result<Verdict, Failure> {
  const verdict = evaluateAcl(aclOf(installation, caller.policies, entity, now), request, now);
  return verdict.allowed ? ok(verdict) : err(DENIED);
}

/** The rules that hold now for a token. A refusal when its entity is disabled or gone. */
export async function aclOfToken(
  env: Env,
  installation: Installation,
  token: TokenPolicies,
): Promise<Result<Acl, Failure>> {
  const entity = await loadActiveEntity(env, token.entityId);
  return entity.ok ? ok(aclOf(installation, token.policies, entity.value, currentTime())) : entity;
}

function aclOf(
  installation: Installation,
  tokenPolicies: readonly string[],
  entity: EntityView | null,
  now: number,
): Acl {
  const added = entity?.policies ?? [];
  const names = added.length === 0 ? tokenPolicies : normalizePolicyNames([...tokenPolicies, ...added]);
  return installation.aclFor(names, entity, now);
}
