import { JWT_FORM, type TrustedJwt } from "../auth/leaked-text.ts";
import { unverifiedClaims } from "./jws.ts";

/** The last second that a date can have. */
const LAST_SECOND = 8.64e12;

/** True for a text that can be a JWT. */
export function isJwt(text: string): boolean {
  return JWT_FORM.test(text);
}

/**
 * Reads who issued a JWT that may have leaked, and until when, without verifying it.
 *
 * @param isTrusted whether a mount accepts tokens with these claims, by their issuer.
 * @returns null for a text that is no JWT, and for one that the mount does not accept.
 */
export function trustedJwt(text: string, isTrusted: (issuer: string | undefined) => boolean): TrustedJwt | null {
  const claims = unverifiedClaims(text);
  if (!claims) return null;
  const issuer = typeof claims.iss === "string" ? claims.iss : undefined;
  if (!isTrusted(issuer)) return null;
  const { exp, sub, aud } = claims;
  const subject = typeof sub === "string" ? sub : "";
  const audiences = [aud].flat().filter((one) => typeof one === "string");
  // The author of the text has chosen the number. A login reads 0 as no end, too.
  const isTime = typeof exp === "number" && exp > 0 && exp <= LAST_SECOND;
  const expiresAt = isTime ? exp * 1000 : null;
  return { kind: "jwt", issuer: issuer ?? "", subject, audiences, expiresAt, acceptedUntil: expiresAt };
}
