import type { Ms, Seconds } from "../../base/clock.ts";
import type { Claims } from "../jws.ts";

/**
 * Leeways of a role. 0: the default; negative: none. `notBefore` has no default: it derives a beginning for a
 * token that has only an end.
 */
export type Leeways = { readonly expiration: Seconds; readonly notBefore: Seconds; readonly clockSkew: Seconds };

const DEFAULT_LEEWAY: Seconds = 150;
const DEFAULT_CLOCK_SKEW: Seconds = 60;

/**
 * Returns why a token is not valid at `now`, or null. A token without `exp` ends one leeway after its beginning,
 * and one without any time is refused, as in the reference. A token with `exp` alone has no beginning to check, unless
 * the role sets a leeway for it.
 */
export function validityProblem(claims: Claims, leeways: Leeways, now: Ms): string | null {
  const times = [claims.iat, claims.nbf, claims.exp].map(timeOf);
  if (times.includes(null)) return "the times (iat, nbf, exp) of the token must be numbers";
  const [issuedAt = 0, notBefore = 0, expiry = 0] = times.map((time) => time ?? 0);
  if (issuedAt === 0 && notBefore === 0 && expiry === 0) {
    return "no issued at (iat), not before (nbf), or expiration time (exp) claims in token";
  }
  const end = expiry || Math.max(issuedAt, notBefore) + leewayOf(leeways.expiration, DEFAULT_LEEWAY);
  const start = notBefore || issuedAt || (leeways.notBefore > 0 ? end - leeways.notBefore : 0);
  const skew = lateness(leeways);
  const seconds = now / 1000;
  if (seconds > end + skew) return "invalid expiration time (exp) claim: token is expired";
  if (seconds < start - skew) return "invalid not before (nbf) claim: token not yet valid";
  if (issuedAt !== 0 && seconds < issuedAt - skew) return "invalid issued at (iat) claim: token issued in the future";
  return null;
}

/** Returns the leeways of a role, with the names of its fields. */
export function leewaysInForce({ expiration, notBefore, clockSkew }: Leeways): string[] {
  return [
    `expiration_leeway ${leewayOf(expiration, DEFAULT_LEEWAY)} s`,
    ...(notBefore > 0 ? [`not_before_leeway ${notBefore} s`] : []),
    `clock_skew_leeway ${leewayOf(clockSkew, DEFAULT_CLOCK_SKEW)} s`,
  ];
}

/** Returns the times of a token in readable form; null for none. */
export function timesOf(claims: Claims): string | null {
  const times = ["iat", "nbf", "exp"].flatMap((name) => {
    const value = claims[name];
    if (value === undefined || value === null) return [];
    const date = new Date(typeof value === "number" ? value * 1000 : Number.NaN);
    return `${name} ${Number.isNaN(date.getTime()) ? JSON.stringify(value) : date.toISOString()}`;
  });
  return times.length === 0 ? null : times.join(", ");
}

/** How long after its end a token may be accepted by a role with these leeways. */
export function lateness({ clockSkew }: Leeways): Seconds {
  return leewayOf(clockSkew, DEFAULT_CLOCK_SKEW);
}

function leewayOf(leeway: Seconds, otherwise: Seconds): Seconds {
  return leeway < 0 ? 0 : leeway || otherwise;
}

function timeOf(value: unknown): Seconds | null {
  if (value === undefined || value === null) return 0;
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : null;
}
