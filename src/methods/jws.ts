import { createPublicKey } from "node:crypto";
import { compactVerify, createLocalJWKSet, decodeProtectedHeader, errors, type JWK } from "jose";
import { err, ok, type Result } from "../base/result.ts";
import { inPemLines } from "../base/white-space.ts";
import { fromBase64Url, fromUtf8 } from "../crypto/bytes.ts";
import { jsonObjectOf } from "../wire/json.ts";

export type Claims = Readonly<Record<string, unknown>>;

/** Algorithms that a mount can allow. No HMAC: a public key is no secret. No `none`: tokens must be signed. */
export const JWT_ALGORITHMS = [
  ...(["RS256", "RS384", "RS512", "ES256", "ES384", "ES512", "PS256", "PS384", "PS512", "EdDSA"] as const),
];
export type JwtAlgorithm = (typeof JWT_ALGORITHMS)[number];

const MAX_PEM_LENGTH = 16_384;

const ASYMMETRIC: ReadonlySet<string> = new Set(["RSA", "EC", "OKP"]);

/** Reads a public key, or the key of a certificate, from PEM; null for anything else, such as a private key. */
export function readPublicKey(pem: string): JWK | null {
  if (pem.length > MAX_PEM_LENGTH || pem.includes("PRIVATE KEY")) return null;
  try {
    const jwk: JWK = { ...createPublicKey(inPemLines(pem)).export({ format: "jwk" }) };
    return isVerificationKey(jwk) ? jwk : null;
  } catch {
    return null;
  }
}

/** True for a key that can only verify. A symmetric key in the key set of an issuer is not accepted. */
export function isVerificationKey(jwk: JWK): boolean {
  return ASYMMETRIC.has(jwk.kty ?? "") && (jwk.use === undefined || jwk.use === "sig");
}

export const MAX_JWT_LENGTH = 16_384;
const MAX_CANDIDATES = 8;

/**
 * Reads the header of a token: only the algorithm, one of `allowed` (empty: all), and the key id. A key in the token
 * (`jwk`, `x5c`) or a URL of one (`jku`, `x5u`) must be ignored, because the attacker who made the token can choose it.
 */
export function readJwtHead(token: string, allowed: readonly JwtAlgorithm[]) {
  if (token.length > MAX_JWT_LENGTH) return err(`error parsing token: it is longer than ${MAX_JWT_LENGTH} characters`);
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

/** Key sets with the keys that they have imported, by list of keys. */
const keySets = new WeakMap<readonly JWK[], ReturnType<typeof createLocalJWKSet>>();

function keySetOf(keys: readonly JWK[]) {
  const known = keySets.get(keys) ?? createLocalJWKSet({ keys: [...keys] });
  keySets.set(keys, known);
  return known;
}

/** Verifies the signature of a token with one of the keys, a list that never changes. Returns its claims. */
export async function verifySignature(
  token: string,
  algorithm: JwtAlgorithm,
  keys: readonly JWK[],
): Promise<Result<Claims, string>> {
  const options = { algorithms: [algorithm] };
  try {
    return readClaims(await compactVerify(token, keySetOf(keys), options));
  } catch (error) {
    return error instanceof errors.JWKSMultipleMatchingKeys ? tryEach(token, options, error) : refusalFor(error);
  }
}

/** Verifies a token without a key id, trying several keys. */
async function tryEach(token: string, options: { algorithms: string[] }, candidates: errors.JWKSMultipleMatchingKeys) {
  let tried = 0;
  for await (const key of candidates) {
    if (++tried > MAX_CANDIDATES) break;
    try {
      return readClaims(await compactVerify(token, key, options));
    } catch (error) {
      if (!(error instanceof errors.JWSSignatureVerificationFailed)) return refusalFor(error);
    }
  }
  return err("failed to verify id token signature");
}

/** Returns the claims of an unverified token, for explanations only; null for a malformed token. */
export function unverifiedClaims(token: string): Claims | null {
  const [, payload = "", ...others] = token.split(".");
  const bytes = token.length > MAX_JWT_LENGTH || others.length !== 1 ? null : fromBase64Url(payload);
  return bytes && claimsIn(bytes);
}

function readClaims({ payload }: { readonly payload: Uint8Array }): Result<Claims, string> {
  const claims = claimsIn(payload);
  return claims ? ok(claims) : err("error parsing token: its claims are no JSON object");
}

function claimsIn(payload: Uint8Array): Claims | null {
  const text = fromUtf8(payload);
  return text === null ? null : jsonObjectOf(text);
}

/** Most often the issuer has a new key, and its keys were fetched a moment before. */
const NO_KEY = "failed to verify id token signature: no known key of the issuer has its key id and algorithm";

/** A malformed token or key is a refusal; any other error is a bug. */
function refusalFor(error: unknown): Result<never, string> {
  if (error instanceof errors.JWKSNoMatchingKey) return err(NO_KEY);
  if (error instanceof errors.JWSInvalid || error instanceof errors.JOSENotSupported) {
    return err("error parsing token: it is not a signed JWT");
  }
  if (error instanceof errors.JOSEError || error instanceof TypeError || error instanceof DOMException) {
    return err("failed to verify id token signature");
  }
  throw error;
}
