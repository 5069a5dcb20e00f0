import { type EndRequest, UNASKED } from "../system/end-request.ts";

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
