import { ok, type Result } from "../../base/result.ts";
import type { TeamToken } from "../record.ts";
import { expiryAt, expiryUnder, inheritedExpiry, type LifetimeRules } from "./lifetime.ts";

/** The two tokens of a rotation. */
export interface RotatedTokens {
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
