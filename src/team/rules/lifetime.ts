import { err, ok, type Result } from "../../base/result.ts";
import type { OrganizationRecord } from "../record.ts";
import type { Expiry } from "./expiry.ts";

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
export function inheritedExpiry(rules: LifetimeRules, lifetimeMs: number, createdAt: number): Expiry {
  return expiryAt(createdAt + Math.min(lifetimeMs, rules.maxMs ?? lifetimeMs));
}

/** An end at `ms`. */
export function expiryAt(ms: number): Expiry {
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
