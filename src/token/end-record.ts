import type { Ms } from "../base/clock.ts";
import { NO_ORIGIN, type RevocationOrigin } from "../system/revocation-origin.ts";
import { endingWatermark, type Watermark, type Watermarks } from "../system/watermarks.ts";
import type { TokenRecord } from "./record.ts";

export const LIVE = 0;
/** Revoked together with all its descendants. */
export const REVOKED = 1;
/** Revoked alone: its children are orphans. */
export const REVOKED_ALONE = 2;
export type RevokedState = typeof REVOKED | typeof REVOKED_ALONE;

/**
 * Why a token can't be used any more. "spent": its last use was made. "ended_together": a watermark ended all tokens of
 * a mount, a role or another scope. "parent_ended": an ancestor ended. "gone": nothing is stored of it, or not any
 * more.
 */
export type TokenEnd = "expired" | "revoked" | "spent" | "ended_together" | "parent_ended" | "gone";

/** How a token ended. "tidy": a tidy run found it on the list, and its tree did not have it. */
export type HowEnded =
  | "expired"
  | "uses spent"
  | "unwrapped"
  | "revoked"
  | "revoked by path or entity"
  | "never issued"
  | "tidy";

/** When, how and by whose request a token ended. Holds nothing secret. */
export interface EndRecord extends RevocationOrigin {
  /** The token is refused from this time on. */
  readonly at: Ms;
  readonly how: HowEnded;
  /** Accessor of the token that was ended: this token, or the ancestor that it ended with. */
  readonly cause: string;
}

/** The earliest of several ends; the first of equal ones. */
export function earliestEnd(ends: readonly (EndRecord | null)[]): EndRecord | null {
  return ends.reduce((first, end) => (end && (!first || end.at < first.at) ? end : first), null);
}

/** The end of a token by expiry; null while it has not expired. */
export function expiry(expiresAt: Ms | null, accessor: string, now: Ms): EndRecord | null {
  if (expiresAt === null || expiresAt > now) return null;
  return { ...NO_ORIGIN, at: expiresAt, how: "expired", cause: accessor };
}

/** The end by a watermark, at the time when that was made. `mark` null: unknown, and the time is `now`. */
export function endByWatermark(mark: Watermark | null, now: Ms): Omit<EndRecord, "cause"> {
  // The number of a watermark is the time when it was made, or more where the previous number was not below that.
  const at = mark ? Math.min(mark.number, now) : now;
  return { ...(mark?.asked ?? NO_ORIGIN), at, how: "revoked by path or entity" };
}

/** The end of a token by a watermark, even if its row is not marked yet; null when none ends it. */
export function watermarkEnd(
  watermarks: Watermarks,
  { record, accessor }: { readonly record: TokenRecord; readonly accessor: string },
  now: Ms,
): EndRecord | null {
  const mark = endingWatermark(watermarks, record);
  return mark && { ...endByWatermark(mark, now), cause: accessor };
}
