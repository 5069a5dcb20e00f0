import { type JudgedClaims, JWT_FORM, type TrustedJwt } from "../auth/leaked-text.ts";
import { unlessMethodIsMissing } from "../base/platform-errors.ts";
import { type Claims, unverifiedClaims } from "./jws.ts";

/** The last second that a date can have. */
const LAST_SECOND = 8.64e12;

/** True for a text that can be a JWT. */
export function isJwt(text: string): boolean {
  return JWT_FORM.test(text);
}

/** The mount that a JWT may be for. */
interface AskedMount {
  /** True if the mount accepts tokens of this issuer. */
  isTrusted(issuer: string | undefined): boolean;
  /** Asks the object of the mount about these claims. */
  judge(claims: Claims): Promise<JudgedClaims>;
}

/**
 * Reads who issued a JWT that may have leaked, until when, and which roles would take it, without verifying it.
 *
 * @returns null for a text that is no JWT, and for one that the mount does not accept.
 */
export async function trustedJwt(text: string, { isTrusted, judge }: AskedMount): Promise<TrustedJwt | null> {
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
  const judged = await unlessMethodIsMissing(judge(claims));
  const acceptedUntil = expiresAt === null || judged === null ? null : expiresAt + judged.latenessMs;
  const roles = judged?.roles ?? null;
  const aliases = judged?.aliases ?? [];
  return { kind: "jwt", issuer: issuer ?? "", subject, audiences, expiresAt, acceptedUntil, aliases, roles };
}
