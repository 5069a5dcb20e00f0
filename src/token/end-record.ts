import { type EndRequest, UNASKED } from "../system/end-request.ts";
import { endingWatermark, type Watermark, type Watermarks } from "../system/watermarks.ts";
import type { TokenRecord } from "./record.ts";

/** What ended a token. "tidy": it was found on the list, and its tree did not have it. */
export type HowEnded =
  | "expired"
  | "uses spent"
  | "unwrapped"
  | "revoked"
  | "revoked by path or entity"
  | "never issued"
  | "tidy";

/** The end of a token. Holds nothing secret. */
export interface EndRecord extends EndRequest {
  /** From when on it was refused (ms). */
  readonly at: number;
  readonly how: HowEnded;
  /** Accessor of the token that ended then: this one, or the one above that it ended with. */
  readonly cause: string;
}

/** The earliest of several ends; the first of equal ones. */
export function earliestEnd(ends: readonly (EndRecord | null)[]): EndRecord | null {
  return ends.reduce((first, end) => (end && (!first || end.at < first.at) ? end : first), null);
}

/** The end of a token by its time; null while that has not come. Times in ms. */
export function expiry(expiresAt: number | null, accessor: string, now: number): EndRecord | null {
  if (expiresAt === null || expiresAt > now) return null;
  return { ...UNASKED, at: expiresAt, how: "expired", cause: accessor };
}

/** The end by a watermark, from the moment on that it was made; null: one that is not known. `now` in ms. */
export function endByWatermark(mark: Watermark | null, now: number): Omit<EndRecord, "cause"> {
  // The number of a watermark is the time of its making, or follows that of another.
  const at = mark ? Math.min(mark.number, now) : now;
  return { ...(mark?.asked ?? UNASKED), at, how: "revoked by path or entity" };
}

/** How a watermark ended a token, which may have no mark of it yet; null when none did. `now` in ms. */
export function watermarkEnd(
  watermarks: Watermarks,
  { record, accessor }: { readonly record: TokenRecord; readonly accessor: string },
  now: number,
): EndRecord | null {
  const mark = endingWatermark(watermarks, record);
  return mark && { ...endByWatermark(mark, now), cause: accessor };
}
