import type { Ms, Seconds } from "../../base/clock.ts";
import { lesserLimit } from "../../base/limits.ts";
import { err, type Failure, invalid, ok, type Result, refuse } from "../../base/result.ts";
import { type MountTtl, narrowTtl } from "../../system/mount.ts";
import type { TokenView } from "../record.ts";
import type { TokenRole } from "../role.ts";
import { type GrantedTtl, grantTtl } from "./ttl.ts";

/** Terms of a renewal: those of the token itself, or the present ones of its role or auth method. */
export interface RenewTerms {
  /** 0: not periodic. */
  readonly period: Seconds;
  /** 0: none. */
  readonly explicitMaxTtl: Seconds;
  /** TTL of a renewal that requests none. null: that of the last grant; 0: the mount's default. */
  readonly ttl: Seconds | null;
  /** Maximum TTL, counted from the creation; 0: the mount's. */
  readonly maxTtl: Seconds;
}

/** The token's own terms, which hold for a token that was made without a role and without a login. */
export function ownTerms(token: Pick<TokenView, "period" | "explicitMaxTtl">): RenewTerms {
  return { period: token.period, explicitMaxTtl: token.explicitMaxTtl, ttl: null, maxTtl: 0 };
}

/**
 * The terms of a token that a token role made. The explicit maximum was fixed at the creation, so later changes of the
 * role do not change it. The period is the lesser of the token's own and the role's present one.
 */
export function roleTerms(
  token: Pick<TokenView, "period" | "explicitMaxTtl">,
  role: Pick<TokenRole, "tokenPeriod">,
): RenewTerms {
  return { ...ownTerms(token), period: lesserLimit(token.period, role.tokenPeriod) };
}

/**
 * Why `token` can't be renewed under any terms, or null. The initial root token has no lease; a token that never
 * expires has a lease that is not renewable. Messages are the reference's (test/conformance/lines.json T53, X4, X9).
 */
export function refuseRenewal(token: Pick<TokenView, "leased" | "renewable" | "expiresAt">): Failure | null {
  if (!token.leased) return invalid("invalid lease ID");
  if (!token.renewable || token.expiresAt === null) return invalid("lease is not renewable");
  return null;
}

/**
 * Decides a renewal. `increment`: requested TTL; 0 or less: `terms.ttl`. Ignored for periodic tokens.
 * Refuses with the failure of `refuseRenewal`, or a 400 for a token past its maximum TTL.
 */
export function planRenew(
  token: TokenView,
  terms: RenewTerms,
  increment: Seconds,
  mount: MountTtl,
  now: Ms,
): Result<GrantedTtl> {
  const refusal = refuseRenewal(token);
  if (refusal) return err(refusal);
  const lastTtl = terms.ttl === null ? token.grantedTtl : terms.ttl;
  const grant = grantTtl({
    issuedAt: token.createdAt,
    now,
    requestedTtl: increment,
    defaultTtl: lastTtl || mount.defaultSeconds,
    period: terms.period,
    explicitMaxTtl: terms.explicitMaxTtl,
    mount: narrowTtl(mount, terms.maxTtl),
  });
  return grant.ok ? ok(grant.value) : refuse("past the max TTL, cannot renew");
}
