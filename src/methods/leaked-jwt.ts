import { type JudgedClaims, JWT_FORM, type TrustedJwt } from "../auth/leaked-text.ts";
import { currentTime, type Ms } from "../base/clock.ts";
import { unlessMethodIsMissing } from "../base/platform-errors.ts";
import { type Claims, unverifiedClaims } from "./jws.ts";

/** The last second that a date can have. */
const LAST_SECOND = 8.64e12;

/** The object of the mount that a JWT may be for. */
interface AskedMount<Config> {
  readConfig(): Promise<Config | null>;
  judgeClaims(claims: Claims, now: Ms): Promise<JudgedClaims>;
}

/**
 * Reads who issued a JWT that may have leaked, until when, and which roles would take it, without verifying it.
 *
 * @param isTrusted true if a mount with this configuration accepts tokens of the issuer.
 * @returns null for a text that is no JWT, and for one that the mount does not accept.
 */
export async function trustedJwt<Config>(
  text: string,
  object: AskedMount<Config>,
  isTrusted: (config: Config, issuer: string | undefined) => boolean,
): Promise<TrustedJwt | null> {
  const claims = JWT_FORM.test(text) ? unverifiedClaims(text) : null;
  const config = claims && (await object.readConfig());
  if (!claims || !config) return null;
  const issuer = typeof claims.iss === "string" ? claims.iss : undefined;
  if (!isTrusted(config, issuer)) return null;
  const { exp, sub, aud } = claims;
  const subject = typeof sub === "string" ? sub : "";
  const audiences = [aud].flat().filter((one) => typeof one === "string");
  // The author of the text has chosen the number. A login reads 0 as no end, too.
  const isTime = typeof exp === "number" && exp > 0 && exp <= LAST_SECOND;
  const expiresAt = isTime ? exp * 1000 : null;
  const judged = await unlessMethodIsMissing(object.judgeClaims(claims, currentTime()));
  const acceptedUntil = expiresAt === null || judged === null ? null : expiresAt + judged.latenessMs;
  const roles = judged?.roles ?? null;
  const aliases = judged?.aliases ?? [];
  return { kind: "jwt", issuer: issuer ?? "", subject, audiences, expiresAt, acceptedUntil, aliases, roles };
}
