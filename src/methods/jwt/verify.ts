import { compactVerify, createLocalJWKSet, decodeJwt, decodeProtectedHeader, errors, type JWK } from "jose";
import { err, ok, type Result } from "../../base/result.ts";
import { fromUtf8 } from "../../crypto/bytes.ts";
import { jsonObjectOf } from "../../wire/json.ts";
import type { Claims } from "./claims.ts";
import { JWT_ALGORITHMS, type JwtAlgorithm } from "./config.ts";

/** Maximum length of a token. */
export const MAX_JWT_LENGTH = 16_384;
const MAX_CANDIDATES = 8;

/** The unverified header of a token. */
export interface JwtHead {
  readonly algorithm: JwtAlgorithm;
  readonly kid: string | undefined;
}

/**
 * Reads the header of a token: only the algorithm and the key id. A key in the token (`jwk`, `x5c`) or a URL of one (`jku`,
 * `x5u`) must be ignored, because the attacker who made the token can choose it.
 *
 * @param allowed algorithms; empty for all that a mount can allow.
 */
export function readHead(token: string, allowed: readonly JwtAlgorithm[]): Result<JwtHead, string> {
  if (token.length > MAX_JWT_LENGTH) return err("error parsing token: it is too long");
  try {
    const { alg, kid, crit, b64, enc } = decodeProtectedHeader(token);
    const algorithm = (allowed.length > 0 ? allowed : JWT_ALGORITHMS).find((name) => name === alg);
    if (!algorithm) return err("error parsing token: its signing algorithm is not allowed");
    if (crit !== undefined || b64 !== undefined || enc !== undefined)
      return err("error parsing token: unsupported header");
    return ok({ algorithm, kid: typeof kid === "string" ? kid : undefined });
  } catch {
    return err("error parsing token: it is not a signed JWT");
  }
}

/** Verifies the signature of a token with one of the keys. Returns its claims. */
export async function verifySignature(
  token: string,
  { algorithm }: JwtHead,
  keys: readonly JWK[],
): Promise<Result<Claims, string>> {
  const options = { algorithms: [algorithm] };
  const keySet = createLocalJWKSet({ keys: [...keys] });
  try {
    const { payload } = await compactVerify(token, keySet, options);
    return readClaims(payload);
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) return refusalFor(error);
    return tryEach(token, options, error);
  }
}

/** Verifies a token without a key id, trying several keys. */
async function tryEach(
  token: string,
  options: { algorithms: string[] },
  candidates: errors.JWKSMultipleMatchingKeys,
): Promise<Result<Claims, string>> {
  let tried = 0;
  for await (const key of candidates) {
    if (++tried > MAX_CANDIDATES) break;
    try {
      const { payload } = await compactVerify(token, key, options);
      return readClaims(payload);
    } catch (error) {
      if (!(error instanceof errors.JWSSignatureVerificationFailed)) return refusalFor(error);
    }
  }
  return err("failed to verify id token signature");
}

/** Returns the claims of an unverified token, for explanations only; null for a malformed token. */
export function unverifiedClaims(token: string): Claims | null {
  try {
    return token.length > MAX_JWT_LENGTH ? null : decodeJwt(token);
  } catch {
    return null;
  }
}

function readClaims(payload: Uint8Array): Result<Claims, string> {
  const text = fromUtf8(payload);
  const claims = text === null ? null : jsonObjectOf(text);
  return claims ? ok(claims) : err("error parsing token: its claims are no JSON object");
}

/** A malformed token or key is a refusal; any other error is a bug. */
function refusalFor(error: unknown): Result<never, string> {
  if (error instanceof errors.JWSInvalid || error instanceof errors.JOSENotSupported) {
    return err("error parsing token: it is not a signed JWT");
  }
  if (error instanceof errors.JOSEError || error instanceof TypeError || error instanceof DOMException) {
    return err("failed to verify id token signature");
  }
  throw error;
}
