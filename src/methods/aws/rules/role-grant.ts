import { type TokenTerms, tokenTerms } from "../../../auth/token-settings.ts";
import type { Seconds } from "../../../base/clock.ts";
import { lesserLimit } from "../../../base/limits.ts";
import { err, ok, type Result } from "../../../base/result.ts";
import type { MountTtl } from "../../../system/mount.ts";
import type { RenewTerms } from "../../../token/rules/renew.ts";
import type { CloudRole } from "./role.ts";
import { isSubsetOfRole, type RoleTag } from "./role-tag.ts";

/** The rights of one login: those of the role, narrowed by a role tag. */
export interface RoleGrant {
  readonly policies: readonly string[];
  /** 0 for no limit. */
  readonly tagMaxTtl: Seconds;
  readonly allowMigration: boolean;
  readonly disallowReauthentication: boolean;
}

/** The rights of a role without a role tag. */
export function untagged(role: CloudRole): RoleGrant {
  return {
    policies: role.token.policies,
    tagMaxTtl: 0,
    allowMigration: role.allowInstanceMigration,
    disallowReauthentication: role.disallowReauthentication,
  };
}

/** Narrows the rights of a role by a genuine tag, which never adds rights. Messages are the reference's (login). */
export function narrowByTag(
  role: CloudRole,
  tag: RoleTag,
  login: { readonly role: string; readonly instanceId: string },
): Result<RoleGrant, string> {
  const whole = untagged(role);
  if (tag.role !== login.role) return err("role on the tag is not matching the role supplied");
  if (tag.instanceId !== null && tag.instanceId !== login.instanceId.toLowerCase()) {
    return err("role tag is being used by an unauthorized instance");
  }
  if (!isSubsetOfRole(tag.policies ?? [], whole.policies)) {
    return err("policies on the role tag must be subset of policies on the role");
  }
  return ok({
    policies: tag.policies ?? whole.policies,
    tagMaxTtl: tag.maxTtlSeconds,
    allowMigration: whole.allowMigration && tag.allowInstanceMigration,
    disallowReauthentication: whole.disallowReauthentication || tag.disallowReauthentication,
  });
}

/** The terms of a login's token, which is bound to these networks. */
export function cloudRoleTerms(role: CloudRole, grant: RoleGrant, boundCidrs: readonly string[]): TokenTerms {
  const terms = tokenTerms(role.token, boundCidrs);
  return { ...terms, policies: grant.policies, maxTtl: lesserLimit(terms.maxTtl, grant.tagMaxTtl) };
}

/** The terms of a renewal: those of the role as it is now, limited by the tag of the login. */
export function renewalTerms(role: CloudRole, tagMaxTtl: Seconds, explicitMaxTtl: Seconds): RenewTerms {
  const { ttl, maxTtl, period } = role.token;
  return { period, ttl, maxTtl: lesserLimit(maxTtl, tagMaxTtl), explicitMaxTtl };
}

/**
 * How long an instance is remembered after a login, and a tag after its denial: the longest limit of a token, so
 * that the document is not replayed, and that no token of the tag outlives its entry.
 */
export function memorySeconds(role: CloudRole, tagMaxTtl: Seconds, mount: MountTtl): Seconds {
  return Math.max(mount.maxSeconds, role.token.maxTtl, tagMaxTtl);
}
