import type { TokenRole } from "../role.ts";

/**
 * Why the type of a role does not go with its other settings, or null. A batch token is stored nowhere, so it can't be
 * renewed, counted, or made to end with a parent, which is not asked. Roles whose clients may ask for another type keep
 * what holds for that other type; a creation checks the type that it really gives.
 * Messages are the reference's (auth/token/roles).
 */
export function checkRoleType(role: TokenRole): string | null {
  if (role.tokenType !== "batch") return null;
  const start = "'token_type' cannot be 'batch' when role is set to generate";
  if (!role.orphan) return `${start} non-orphan tokens`;
  if (role.tokenPeriod > 0) return `${start} periodic tokens`;
  if (role.renewable) return `${start} renewable tokens`;
  if (role.tokenExplicitMaxTtl > 0) return `${start} tokens with an explicit max TTL`;
  if (role.tokenNumUses > 0) return `${start} tokens with limited use count`;
  return null;
}
