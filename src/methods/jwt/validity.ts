import type { Claims } from "./claims.ts";

/** Leeways of a role in seconds. 0: the default; negative: none. */
export interface Leeways {
  readonly expiration: number;
  readonly notBefore: number;
  readonly clockSkew: number;
}

const DEFAULT_LEEWAY = 150;
const DEFAULT_CLOCK_SKEW = 60;

/**
 * Why a token is not good at `now` (ms), or null. By the reference's rules: a token without an end ends a leeway after its
 * beginning, and one without both has no time at all.
 */
export function validityProblem(claims: Claims, leeways: Leeways, now: number): string | null {
  const times = [claims.iat, claims.nbf, claims.exp].map(timeOf);
  if (times.includes(null)) return "the times (iat, nbf, exp) of the token must be numbers";
  const [issuedAt = 0, notBefore = 0, expiry = 0] = times.map((time) => time ?? 0);
  if (issuedAt === 0 && notBefore === 0 && expiry === 0) {
    return "no issued at (iat), not before (nbf), or expiration time (exp) claims in token";
  }
  const end = expiry || Math.max(issuedAt, notBefore) + leewayOf(leeways.expiration, DEFAULT_LEEWAY);
  const start = notBefore || issuedAt || end - leewayOf(leeways.notBefore, DEFAULT_LEEWAY);
  const skew = leewayOf(leeways.clockSkew, DEFAULT_CLOCK_SKEW);
  const seconds = now / 1000;
  if (seconds > end + skew) return "invalid expiration time (exp) claim: token is expired";
  if (seconds < start - skew) return "invalid not before (nbf) claim: token not yet valid";
  if (issuedAt !== 0 && seconds < issuedAt - skew) return "invalid issued at (iat) claim: token issued in the future";
  return null;
}

/** The leeways that hold, in words, with the names of the fields of a role. */
export function leewaysInForce({ expiration, notBefore, clockSkew }: Leeways): string[] {
  return [
    `expiration_leeway ${leewayOf(expiration, DEFAULT_LEEWAY)} s`,
    `not_before_leeway ${leewayOf(notBefore, DEFAULT_LEEWAY)} s`,
    `clock_skew_leeway ${leewayOf(clockSkew, DEFAULT_CLOCK_SKEW)} s`,
  ];
}

/** The times that a token has, to be read; null for none. */
export function timesOf(claims: Claims): string | null {
  const times = ["iat", "nbf", "exp"].flatMap((name) => {
    const value = claims[name];
    if (value === undefined || value === null) return [];
    const date = new Date(typeof value === "number" ? value * 1000 : Number.NaN);
    return `${name} ${Number.isNaN(date.getTime()) ? JSON.stringify(value) : date.toISOString()}`;
  });
  return times.length === 0 ? null : times.join(", ");
}

function leewayOf(leeway: number, otherwise: number): number {
  if (leeway < 0) return 0;
  return leeway === 0 ? otherwise : leeway;
}

/** 0 for a claim that is absent; null for one that is no time. */
function timeOf(value: unknown): number | null {
  if (value === undefined || value === null) return 0;
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : null;
}
