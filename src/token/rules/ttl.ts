import type { Ms, Seconds } from "../../base/clock.ts";
import { formatDuration } from "../../base/duration.ts";
import { err, ok, type Result } from "../../base/result.ts";
import type { MountTtl } from "../../system/mount.ts";

/** Inputs of `grantTtl`. A duration of 0 is not set. */
export interface TtlTerms {
  /** When the token was made; at creation the same as `now`. */
  readonly issuedAt: Ms;
  readonly now: Ms;
  readonly requestedTtl: Seconds;
  /** Used when nothing is requested. */
  readonly defaultTtl: Seconds;
  readonly period: Seconds;
  readonly explicitMaxTtl: Seconds;
  readonly mount: MountTtl;
}

export interface GrantedTtl {
  readonly ttl: Seconds;
  /** Never after the end that the maximum TTLs set. */
  readonly expiresAt: Ms;
  readonly warnings: readonly string[];
}

/**
 * Computes the TTL of a token, at its creation and at every renewal. The mount's maximum and an explicit maximum limit
 * it, counted from the creation of the token. The end of a periodic token is limited by an explicit maximum only. There
 * is a warning, in the reference's words (auth/token/create), for each value that was lowered.
 */
export function grantTtl(terms: TtlTerms): Result<GrantedTtl, "past_max_ttl"> {
  const { now, issuedAt, period, explicitMaxTtl, mount } = terms;
  const warnings: string[] = [];
  const cap = explicitMaxTtl > 0 ? Math.min(mount.maxSeconds, explicitMaxTtl) : mount.maxSeconds;
  let ttl: Seconds;
  let end: Ms | null;
  if (period > 0) {
    ttl = Math.min(period, cap);
    if (period > cap) {
      warnings.push(
        `period of "${formatDuration(period)}" exceeded the effective max_ttl of "${formatDuration(cap)}"; period value is capped accordingly`,
      );
    }
    end = explicitMaxTtl > 0 ? issuedAt + explicitMaxTtl * 1000 : null;
  } else {
    ttl = terms.requestedTtl > 0 ? terms.requestedTtl : terms.defaultTtl;
    end = issuedAt + cap * 1000;
  }
  if (end === null) return ok({ ttl, expiresAt: now + ttl * 1000, warnings });
  if (end <= now) return err("past_max_ttl");
  const left = Math.ceil((end - now) / 1000);
  if (ttl > left) {
    warnings.push(cappedTtl(ttl, left));
    ttl = left;
  }
  return ok({ ttl, expiresAt: Math.min(now + ttl * 1000, end), warnings });
}

/** The warning about a TTL that was lowered to `max`. */
export function cappedTtl(ttl: Seconds, max: Seconds): string {
  return `TTL of "${formatDuration(ttl)}" exceeded the effective max_ttl of "${formatDuration(max)}"; TTL value is capped accordingly`;
}
