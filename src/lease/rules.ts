import type { Ms, Seconds } from "../base/clock.ts";
import { ok, type Result, refuse } from "../base/result.ts";
import { SYSTEM_TTL_SECONDS } from "../system/mount.ts";
import { type GrantedTtl, grantTtl } from "../token/rules/ttl.ts";
import type { LeaseRecord, LeaseRequest } from "./actions.ts";

/** Attempts to send a revocation before it is given up. */
export const MAX_REVOCATION_ATTEMPTS = 6;
/** Pause after the first failed attempt, see `retryDelayMs`. */
export const RETRY_BASE_MS: Ms = 10_000;

const MAX_PATH = 512;
const MAX_SEGMENTS = 16;
/** Excludes white space, the wildcards of policies and the special characters of URLs. */
const SEGMENT = /^[A-Za-z0-9_.:@~-]+$/;
/** First segments that no engine may use: Grove itself makes the leases below them. */
const OWN_PATHS = new Set(["auth", "sys", "cubbyhole", "identity"]);

const SYSTEM_TTL = { defaultSeconds: SYSTEM_TTL_SECONDS, maxSeconds: SYSTEM_TTL_SECONDS };

export interface LeasePlan {
  readonly record: LeaseRecord;
  readonly grant: GrantedTtl;
}

/** Returns why no lease may be registered at `path`, or null. */
export function leasePathProblem(path: string): string | null {
  const segments = path.split("/");
  if (path.length > MAX_PATH || segments.length > MAX_SEGMENTS) return "the path is too long";
  if (segments.some((segment) => segment === "." || segment === "..")) return "path cannot contain parent references";
  if (!segments.every((segment) => SEGMENT.test(segment))) {
    return "path must consist of letters, digits and any of _ . : @ ~ - in segments with one slash between";
  }
  return OWN_PATHS.has(segments[0] ?? "") ? "path must begin with the name of the engine" : null;
}

/** Returns the problem with a registration, whatever is stored, or null. */
export function leaseRequestProblem({
  path,
  ttl,
  maxTtl,
}: Pick<LeaseRequest, "path" | "ttl" | "maxTtl">): string | null {
  const problem = leasePathProblem(path);
  if (problem) return problem;
  if (ttl < 0) return "ttl must be positive";
  return maxTtl < 0 ? "max_ttl must be positive" : null;
}

/** Returns the problem with the TTL that a renewal asks for, or null. */
export function incrementProblem(increment: Seconds): string | null {
  return increment < 0 ? "increment cannot be negative" : null;
}

/** Checks a registration and grants its TTL. `endsBy`: expiry of the batch token that holds the lease. */
export function planLease(request: LeaseRequest, endsBy: Ms | null, now: Ms): Result<LeasePlan> {
  const problem = leaseRequestProblem(request);
  if (problem) return refuse(problem);
  const { maxTtl, renewable, target } = request;
  const record: LeaseRecord = { issuedAt: now, maxTtl, renewable, target, endsBy };
  const grant = grantLease(record, request.ttl, SYSTEM_TTL_SECONDS, now);
  return grant ? ok({ record, grant }) : refuse("the token that would hold the lease has ended");
}

/**
 * Checks the renewal of a held lease. Messages are the reference's (sys/leases/renew; docs/conformance.md X9).
 * `increment` is the requested TTL; 0 repeats the last grant.
 */
export function planLeaseRenewal(
  lease: LeaseRecord & { readonly grantedTtl: Seconds; readonly expiresAt: Ms },
  increment: Seconds,
  now: Ms,
): Result<GrantedTtl> {
  if (lease.expiresAt <= now) return refuse("lease expired");
  if (!lease.renewable) return refuse("lease is not renewable");
  const grant = grantLease(lease, increment, lease.grantedTtl, now);
  return grant ? ok(grant) : refuse("past the max TTL, cannot renew");
}

function grantLease(record: LeaseRecord, requested: Seconds, otherwise: Seconds, now: Ms): GrantedTtl | null {
  const { issuedAt, maxTtl, endsBy } = record;
  const terms = { requestedTtl: requested, defaultTtl: otherwise, period: 0, explicitMaxTtl: maxTtl };
  const granted = grantTtl({ issuedAt, now, ...terms, mount: SYSTEM_TTL });
  if (!granted.ok || (endsBy !== null && endsBy <= now)) return null;
  if (endsBy === null || granted.value.expiresAt <= endsBy) return granted.value;
  // A lease never outlives the batch token that holds it.
  return { ...granted.value, expiresAt: endsBy, ttl: Math.ceil((endsBy - now) / 1000) };
}
