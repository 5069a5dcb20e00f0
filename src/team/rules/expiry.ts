import { err, ok, type Result } from "../../base/result.ts";

const UTC_TIME = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d{1,9})?Z$/;

/** When a team token ends. */
export interface Expiry {
  /** ms since 1970; null: never. */
  readonly expiresAt: number | null;
  /** As the client wrote it, which is how it is shown: clients compare it with what they sent. */
  readonly expiredAt: string | null;
}

const NEVER: Expiry = { expiresAt: null, expiredAt: null };

/**
 * Reads `expired-at`: absent or null means never; else an ISO 8601 date and time in UTC with seconds and a literal `Z`
 * (some clients read nothing else back), later than `now` (ms).
 *
 * @returns the expiry, or what is wrong as a phrase.
 */
export function readExpiry(value: unknown, now: number): Result<Expiry, string> {
  if (value === undefined || value === null) return ok(NEVER);
  const [text = "", seconds = ""] = typeof value === "string" ? (UTC_TIME.exec(value) ?? []) : [];
  const expiresAt = Date.parse(text);
  // The platform's parser rolls 30 February over to March: only a date that comes back as it was is one.
  if (Number.isNaN(expiresAt) || !new Date(expiresAt).toISOString().startsWith(seconds)) {
    return err("must be an ISO 8601 date and time in UTC such as 2030-01-31T12:00:00Z, or null");
  }
  if (expiresAt <= now) return err("must be in the future");
  return ok({ expiresAt, expiredAt: text });
}
