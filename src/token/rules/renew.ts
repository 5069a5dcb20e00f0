import { type Failure, invalid } from "../../errors.ts";
import { err, ok, type Result } from "../../result.ts";
import type { MountTtl } from "../../sys/mount.ts";
import type { TokenView } from "../record.ts";
import { type Grant, grantTtl } from "./grant.ts";

/** Limits that hold now for a token: its own, or those of its role as the role is today. Seconds; 0: none. */
export interface RenewTerms {
  readonly period: number;
  readonly explicitMaxTtl: number;
}

/**
 * Why `token` can't be renewed whatever its role says, or null.
 *
 * The initial root token has no lease; a token that never expires has one that is not renewable.
 */
export function refuseRenewal(token: Pick<TokenView, "leased" | "renewable" | "expiresAt">): Failure | null {
  if (!token.leased) return invalid("invalid lease ID");
  if (!token.renewable || token.expiresAt === null) return invalid("lease is not renewable");
  return null;
}

/**
 * Decides a renewal.
 *
 * @param increment seconds asked for; 0 or less repeats the last grant. Ignored for periodic tokens.
 * @param now ms.
 */
export function planRenew(
  token: TokenView,
  terms: RenewTerms,
  increment: number,
  mount: MountTtl,
  now: number,
): Result<Grant, Failure> {
  const refusal = refuseRenewal(token);
  if (refusal) return err(refusal);
  const grant = grantTtl({
    issuedAt: token.createdAt,
    now,
    requestedTtl: increment,
    defaultTtl: token.grantedTtl || mount.defaultSeconds,
    period: terms.period,
    explicitMaxTtl: terms.explicitMaxTtl,
    mount,
  });
  return grant.ok ? ok(grant.value) : err(invalid("past the max TTL, cannot renew"));
}
