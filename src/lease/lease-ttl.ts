import type { Ms, Seconds } from "../base/clock.ts";
import { ok, type Result, refuse } from "../base/result.ts";
import { SYSTEM_TTL_SECONDS } from "../system/mount.ts";
import { type GrantedTtl, grantTtl } from "../token/rules/ttl.ts";
import type { LeaseRecord, LeaseRequest } from "./actions.ts";
import { leasePathProblem } from "./lease-path.ts";

const SYSTEM_TTL = { defaultSeconds: SYSTEM_TTL_SECONDS, maxSeconds: SYSTEM_TTL_SECONDS };

export interface LeasePlan {
  readonly record: LeaseRecord;
  readonly grant: GrantedTtl;
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
 * Checks the renewal of a held lease. Messages are the reference's (sys/leases/renew; test/conformance/lines.json X9).
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
