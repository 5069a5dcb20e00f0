import { createLocalJWKSet, errors, type JWTPayload, jwtVerify, SignJWT } from "jose";
import { err, ok, type Result } from "../base/result.ts";
import type { Keys } from "../crypto/key-ring.ts";
import { openSigningKey } from "./key-pair.ts";
import { SIGNING_ALGORITHMS, type Signer } from "./model.ts";
import type { KnownIssuer } from "./published-keys.ts";

/** Path of the issuer, for every host name of this service. */
const ISSUER_PATH = "/v1/identity/oidc";
/**
 * Path of the issuer of tokens for auth mounts. It is a separate issuer: a client that may get a token of a role must
 * not be able to impersonate a mount.
 */
const PLUGIN_ISSUER_PATH = `${ISSUER_PATH}/plugins`;

/** The only namespace, as the reference writes it into claims. */
const NAMESPACE = "root";

/**
 * Returns the `iss` of tokens for entities.
 *
 * @param configured the configured issuer; "" for none, then the origin of `baseUrl` is used.
 * @param baseUrl URL by which the client called the service.
 */
export function issuerUrl(configured: string, baseUrl: string): string {
  return `${configured || new URL(baseUrl).origin}${ISSUER_PATH}`;
}

/** Returns the `iss` of tokens for auth mounts. */
export function pluginIssuerUrl(configured: string): string {
  return `${configured}${PLUGIN_ISSUER_PATH}`;
}

/** The content of a token. */
export interface TokenContent {
  readonly issuer: string;
  readonly subject: string;
  readonly audience: string;
  /** Seconds. */
  readonly ttl: number;
  /** Further claims. They can't replace those above. */
  readonly claims: Readonly<Record<string, unknown>>;
}

/** Signs a token. `now` in ms. @throws when the signing key was tampered with. */
export async function signToken(keys: Keys, signer: Signer, content: TokenContent, now: number): Promise<string> {
  const seconds = Math.floor(now / 1000);
  return new SignJWT({ ...content.claims, namespace: NAMESPACE })
    .setProtectedHeader({ alg: signer.key.algorithm, kid: signer.signing.kid, typ: "JWT" })
    .setIssuer(content.issuer)
    .setSubject(content.subject)
    .setAudience(content.audience)
    .setIssuedAt(seconds)
    .setExpirationTime(seconds + content.ttl)
    .sign(await openSigningKey(keys, signer.signing));
}

/**
 * Verifies a token of this issuer.
 *
 * @param clientId the audience that it must have; "" for any.
 * @param now ms.
 * @returns its claims, or why it is invalid, in the reference's words (identity/oidc/introspect).
 */
export async function verifyToken(
  known: KnownIssuer,
  token: string,
  issuer: string,
  clientId: string,
  now: number,
): Promise<Result<JWTPayload, string>> {
  try {
    const verified = await jwtVerify(token, createLocalJWKSet({ keys: [...known.jwks.keys] }), {
      issuer,
      ...(clientId !== "" && { audience: clientId }),
      algorithms: [...SIGNING_ALGORITHMS],
      requiredClaims: ["exp", "iat", "sub"],
      currentDate: new Date(now),
    });
    return ok(verified.payload);
  } catch (error) {
    if (error instanceof errors.JWTExpired) return err("error validating claims: token is expired (exp)");
    if (error instanceof errors.JWTClaimValidationFailed) return err(`error validating claims: invalid ${error.claim}`);
    if (error instanceof errors.JWSSignatureVerificationFailed || error instanceof errors.JWKSNoMatchingKey) {
      return err("unable to validate the token signature");
    }
    if (error instanceof errors.JOSEError) return err("error parsing token");
    throw error;
  }
}
