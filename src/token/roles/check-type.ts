import type { TokenRole } from "../role.ts";

/**
 * Why the type of a role does not go with its other settings, or null. A batch token is stored nowhere, so it can't be
 * renewed, counted, or made to end with a parent that nobody asks.
 *
 * @param typeSent whether the write names the type; only decides which of two texts comes first.
 */
export function checkRoleType(role: TokenRole, typeSent: boolean): string | null {
  return typeSent ? (checkBatchOnly(role) ?? checkMayBeBatch(role)) : (checkMayBeBatch(role) ?? checkBatchOnly(role));
}

/** For roles whose tokens are batch tokens unless the client asks for another type. */
function checkMayBeBatch(role: TokenRole): string | null {
  if (role.tokenType !== "batch" && role.tokenType !== "default-batch") return null;
  const start = "error parsing role fields: 'token_type' cannot be 'batch' or 'default_batch' when set to generate";
  if (role.tokenPeriod > 0) return `${start} periodic tokens`;
  if (role.tokenNumUses > 0) return `${start} tokens with limited use count`;
  return null;
}

/** For roles whose tokens are always batch tokens. */
function checkBatchOnly(role: TokenRole): string | null {
  if (role.tokenType !== "batch") return null;
  const start = "'token_type' cannot be 'batch' when role is set to generate";
  if (!role.orphan) return `${start} non-orphan tokens`;
  if (role.tokenPeriod > 0) return `${start} periodic tokens`;
  if (role.renewable) return `${start} renewable tokens`;
  if (role.tokenExplicitMaxTtl > 0) return `${start} tokens with an explicit max TTL`;
  return null;
}
