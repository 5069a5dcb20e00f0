import { parseAbsoluteTime } from "../base/clock.ts";
import { parseDuration } from "../base/duration.ts";
import { err, ok, type Result } from "../base/result.ts";

/**
 * Message that refuses a write by its check-and-set version, or null. `cas` is the version that the writer has seen, -1
 * for no policy yet. It must be given when `casRequired` is set in the stored policy or in this write.
 * Messages are the reference's (sys/policies/acl).
 */
export function checkAndSetProblem(
  stored: { readonly version: number; readonly casRequired: boolean } | null,
  write: { readonly cas: number | null; readonly casRequired: boolean },
): string | null {
  if (write.cas === null) {
    return stored?.casRequired || write.casRequired ? "check-and-set parameter required for this call" : null;
  }
  if (stored && write.cas === -1) return "check-and-set parameter set to -1 on existing entry";
  return write.cas === (stored?.version ?? -1) ? null : "check-and-set parameter did not match the current version";
}

/**
 * Computes the expiry of a policy from the fields `expiration` (a time) and `ttl` (a duration from `now`, ms), of which
 * at most one may be given. An empty text counts as absent. Messages are the reference's (sys/policies/acl).
 *
 * @returns ms since 1970, null for never, or a message for the client.
 */
export function policyExpiry(expiration: string, ttl: string, now: number): Result<number | null, string> {
  if (expiration !== "" && ttl !== "") return err("cannot supply both 'expiration' and 'ttl' for policies");
  let expiresAt: number | null = null;
  if (expiration !== "") {
    expiresAt = parseAbsoluteTime(expiration);
    if (expiresAt === null) return err("invalid expiration time: neither RFC 3339 nor seconds since 1970");
  } else if (ttl !== "") {
    const duration = parseDuration(ttl);
    if (!duration.ok) return err(`ttl ${duration.error}`);
    if (duration.value !== 0) expiresAt = now + duration.value * 1000;
  }
  if (expiresAt !== null && expiresAt <= now) {
    return err("refusing to update policy as expiration time has already elapsed");
  }
  return ok(expiresAt);
}
