import type { Ms } from "../../base/clock.ts";
import { err, invalidDocument, ok, type Result } from "../../base/result.ts";
import type { OrganizationRecord, TeamToken, TokenKind } from "../record.ts";

const UTC_TIME = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d{1,9})?Z$/;

export interface Expiry {
  /** null: never. */
  readonly expiresAt: Ms | null;
  /** As the client wrote it. It is shown like that, because clients compare it with what they sent. */
  readonly expiredAt: string | null;
}

const NEVER: Expiry = { expiresAt: null, expiredAt: null };

/**
 * Reads `expired-at`. Absent or null means never. Any other value must be an ISO 8601 date and time in UTC with seconds
 * and a literal `Z`, which some clients need, and later than `now`. The error is a phrase.
 */
export function readExpiry(value: unknown, now: Ms): Result<Expiry, string> {
  if (value === undefined || value === null) return ok(NEVER);
  const [text = "", seconds = ""] = typeof value === "string" ? (UTC_TIME.exec(value) ?? []) : [];
  const expiresAt = Date.parse(text);
  // The parser turns 30 February into a day in March, so the result is compared with the text.
  if (Number.isNaN(expiresAt) || !new Date(expiresAt).toISOString().startsWith(seconds)) {
    return err("must be an ISO 8601 date and time in UTC such as 2030-01-31T12:00:00Z, or null");
  }
  if (expiresAt <= now) return err("must be in the future");
  return ok({ expiresAt, expiredAt: text });
}

/** The default maximum lifetime: two years. */
export const DEFAULT_MAX_TTL_MS: Ms = 63_072_000_000;

/** The rules of an organization for the lifetimes of its tokens of a kind; null for none. */
export interface LifetimeRules {
  readonly defaultMs: Ms | null;
  readonly maxMs: Ms | null;
  /** True: without another default, tokens end after 24 months of the calendar. */
  readonly endAfter24Months?: boolean;
}

export const NO_RULES: LifetimeRules = { defaultMs: null, maxMs: null };

/** The rules of an organization for tokens of a kind. The maximum lifetime applies only while it is enabled. */
export function lifetimeRules({ settings, maxTtls }: OrganizationRecord, kind: TokenKind): LifetimeRules {
  return {
    defaultMs: (kind === "team" && settings?.["default-team-token-ttl-ms"]) || null,
    maxMs: settings?.["max-ttl-enabled"] ? (maxTtls?.[kind] ?? DEFAULT_MAX_TTL_MS) : null,
    // HCP Terraform's audit trail tokens have no such end either.
    endAfter24Months: kind !== "audit_trails" && settings?.["end-tokens-after-24-months"] === true,
  };
}

/**
 * Decides when a token that is created at `createdAt` expires. A given end must be within the maximum lifetime.
 * Without one, the default applies, or else the maximum. The error is a phrase.
 */
export function expiryUnder(rules: LifetimeRules, given: Expiry, createdAt: Ms): Result<Expiry, string> {
  const latest = createdAt + (rules.maxMs ?? Number.POSITIVE_INFINITY);
  if (given.expiresAt !== null) {
    return given.expiresAt <= latest ? ok(given) : err("is later than the organization allows for such tokens");
  }
  const end = Math.min(defaultEnd(rules, createdAt), latest);
  return ok(end === Number.POSITIVE_INFINITY ? given : expiryAt(end));
}

function defaultEnd({ defaultMs, endAfter24Months }: LifetimeRules, createdAt: Ms): Ms {
  if (defaultMs !== null) return createdAt + defaultMs;
  if (!endAfter24Months) return Number.POSITIVE_INFINITY;
  const end = new Date(createdAt);
  return end.setUTCMonth(end.getUTCMonth() + 24);
}

function expiryAt(ms: Ms): Expiry {
  return { expiresAt: ms, expiredAt: new Date(ms).toISOString() };
}

/** True while a token is within its own lifetime and the maximum lifetime. */
export function isAlive(rules: LifetimeRules, token: Pick<TeamToken, "createdAt" | "expiresAt">, now: Ms): boolean {
  if (token.expiresAt !== null && token.expiresAt <= now) return false;
  return rules.maxMs === null || now < token.createdAt + rules.maxMs;
}

/** The refusal of another rotation of a token. */
export const ALREADY_ROTATED = invalidDocument(
  "the token was rotated already, by a request with another idempotency-key or other attributes, or too long ago",
  "/data",
);

/**
 * Decides a rotation. The new token gets kind and description of the old one. Without an end, it gets the lifetime of the
 * old one, within the maximum. The old token ends with the overlap, and never later than before. The error is a
 * phrase about the end of the new token, which is `token` in the result; `retired` is the old token.
 */
export function planRotation(
  rules: LifetimeRules,
  old: TeamToken,
  given: TeamToken,
  overlapMs: Ms,
  now: Ms,
): Result<{ readonly token: TeamToken; readonly retired: TeamToken }, string> {
  const inherited = given.expiresAt === null && old.expiresAt !== null ? old.expiresAt - old.createdAt : null;
  const expiry =
    inherited === null
      ? expiryUnder(rules, given, now)
      : ok(expiryAt(now + Math.min(inherited, rules.maxMs ?? inherited)));
  if (!expiry.ok) return expiry;
  const { description, kind } = old;
  const token: TeamToken = { ...given, ...expiry.value, createdAt: now, description, ...(kind && { kind }) };
  const end = Math.min(old.expiresAt ?? Number.POSITIVE_INFINITY, now + overlapMs);
  return ok({ token, retired: { ...old, ...expiryAt(end), rotatedAt: now, rotatedTo: token.tokenId } });
}
