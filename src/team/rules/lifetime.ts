import { err, ok, type Result } from "../../base/result.ts";
import type { OrganizationRecord, TeamToken } from "../record.ts";

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

/** Two years in ms: the greatest lifetime where none is set. */
export const DEFAULT_MAX_TTL_MS = 63_072_000_000;

/** The rules of an organization for the lifetimes of its team tokens, in ms; null for none. */
export interface LifetimeRules {
  readonly defaultMs: number | null;
  readonly maxMs: number | null;
}

/** The rules of an organization that sets none. */
export const NO_RULES: LifetimeRules = { defaultMs: null, maxMs: null };

/** The rules of an organization. The greatest lifetime counts while the organization has it enabled. */
export function lifetimeRules({ settings, maxTtls }: OrganizationRecord): LifetimeRules {
  return {
    defaultMs: settings?.["default-team-token-ttl-ms"] ?? null,
    maxMs: settings?.["max-ttl-enabled"] ? (maxTtls?.team ?? DEFAULT_MAX_TTL_MS) : null,
  };
}

/**
 * The end of a token that is made at `createdAt` (ms): one that is given must be within the greatest lifetime, one that is
 * not is set by the default or else by the greatest lifetime.
 *
 * @returns the end, or what is wrong as a phrase.
 */
export function expiryUnder(rules: LifetimeRules, given: Expiry, createdAt: number): Result<Expiry, string> {
  const latest = createdAt + (rules.maxMs ?? Number.POSITIVE_INFINITY);
  if (given.expiresAt !== null) {
    return given.expiresAt <= latest ? ok(given) : err("is later than the organization allows for tokens of teams");
  }
  const end = Math.min(createdAt + (rules.defaultMs ?? Number.POSITIVE_INFINITY), latest);
  return ok(end === Number.POSITIVE_INFINITY ? given : expiryAt(end));
}

/** The end of a token that takes over from one with this lifetime: as long, as far as the greatest lifetime allows. */
function inheritedExpiry(rules: LifetimeRules, lifetimeMs: number, createdAt: number): Expiry {
  return expiryAt(createdAt + Math.min(lifetimeMs, rules.maxMs ?? lifetimeMs));
}

/** An end at `ms`. */
function expiryAt(ms: number): Expiry {
  return { expiresAt: ms, expiredAt: new Date(ms).toISOString() };
}

/** True while a token is within its own lifetime and the greatest that its organization allows. */
export function isAlive(
  rules: LifetimeRules,
  token: { readonly createdAt: number; readonly expiresAt: number | null },
  now: number,
): boolean {
  if (token.expiresAt !== null && token.expiresAt <= now) return false;
  return rules.maxMs === null || now < token.createdAt + rules.maxMs;
}

/** The two tokens of a rotation. */
interface RotatedTokens {
  /** The new token. */
  readonly token: TeamToken;
  /** The old one, which ends with the overlap. */
  readonly retired: TeamToken;
}

/**
 * Decides a rotation. The new token takes over the description of the old one. Without an end of its own it lives as long as
 * the old one was to live, within the greatest lifetime that the organization allows. The old one never ends later than before.
 *
 * @param overlapMs how long the old token stays valid.
 * @param now ms.
 * @returns what is wrong with the end of the new token, as a phrase.
 */
export function planRotation(
  rules: LifetimeRules,
  old: TeamToken,
  given: TeamToken,
  overlapMs: number,
  now: number,
): Result<RotatedTokens, string> {
  const inherits = given.expiresAt === null && old.expiresAt !== null;
  const expiry = inherits
    ? ok(inheritedExpiry(rules, (old.expiresAt ?? 0) - old.createdAt, now))
    : expiryUnder(rules, given, now);
  if (!expiry.ok) return expiry;
  const token: TeamToken = { ...given, ...expiry.value, createdAt: now, description: old.description };
  const end = Math.min(old.expiresAt ?? Number.POSITIVE_INFINITY, now + overlapMs);
  return ok({ token, retired: { ...old, ...expiryAt(end), rotatedAt: now, rotatedTo: token.tokenId } });
}
