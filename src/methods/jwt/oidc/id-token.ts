import { createHash } from "node:crypto";
import type { Ms, Seconds } from "../../../base/clock.ts";
import { equalTexts, toBase64Url } from "../../../crypto/bytes.ts";
import type { Claims, JwtAlgorithm } from "../../jws.ts";
import { listOf } from "../claims.ts";

/** How far the clocks of the provider and of this server may differ. */
const CLOCK_SKEW: Seconds = 60;

/** Returns which claims an ID token lacks that each has (OpenID Connect Core, 2), or null. */
export function missingProblem({ exp, iat, sub }: Claims): string | null {
  const isThere = {
    exp: typeof exp === "number",
    iat: typeof iat === "number",
    sub: typeof sub === "string" && sub !== "",
  };
  const missing = Object.entries(isThere).flatMap(([name, there]) => (there ? [] : [name]));
  return missing.length === 0 ? null : `the ID token has no ${missing.join(", ")}`;
}

/** Returns why an ID token is not for this client (OpenID Connect Core, 3.1.3.7), or null. */
export function clientProblem({ aud, azp }: Claims, clientId: string): string | null {
  const audiences = listOf(aud ?? []);
  if (!audiences.includes(clientId)) return "invalid audience (aud) claim: the ID token is for another client";
  if (azp !== undefined && azp !== clientId) return "the ID token was issued to another client (azp)";
  return audiences.length > 1 && azp === undefined ? "the ID token has several audiences and no azp" : null;
}

/** Returns why an ID token is not the answer to the login with this nonce, or null. */
export function nonceProblem({ nonce }: Claims, expected: string): string | null {
  const isSame = typeof nonce === "string" && equalTexts(nonce, expected);
  return isSame ? null : "invalid ID token nonce";
}

/** Returns why an access token is not the one that an ID token belongs to (`at_hash`, optional), or null. */
export function accessTokenProblem(
  { at_hash: hash }: Claims,
  accessToken: string,
  algorithm: JwtAlgorithm,
): string | null {
  if (hash === undefined) return null;
  const digest = createHash(hashOf(algorithm)).update(accessToken).digest();
  const expected = toBase64Url(digest.subarray(0, digest.length / 2));
  return hash === expected ? null : "the access token is not that of the ID token (at_hash)";
}

/** Returns why a person's sign-in at the provider is too old, or null. @param maxAge 0: any age. */
export function ageProblem({ auth_time: authTime }: Claims, maxAge: Seconds, now: Ms): string | null {
  if (maxAge === 0) return null;
  if (typeof authTime !== "number" || !Number.isFinite(authTime)) return "the ID token has no auth_time";
  const age = now / 1000 - authTime;
  if (age < -CLOCK_SKEW) return "invalid auth_time: it is in the future";
  return age > maxAge + CLOCK_SKEW ? "the sign-in at the provider is older than max_age allows" : null;
}

/** The hash of an algorithm of signatures. EdDSA is Ed25519 here. */
function hashOf(algorithm: JwtAlgorithm): string {
  return algorithm === "EdDSA" ? "sha512" : `sha${algorithm.slice(2)}`;
}
