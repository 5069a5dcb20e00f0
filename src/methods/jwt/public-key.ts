import { createPublicKey } from "node:crypto";
import type { JWK } from "jose";

const MAX_PEM_LENGTH = 16_384;

/** Kinds of keys that verify a signature and can't make one. */
const ASYMMETRIC: ReadonlySet<string> = new Set(["RSA", "EC", "OKP"]);

/** A public key, or that of a certificate, from PEM; null for anything else, a private key above all. */
export function readPublicKey(pem: string): JWK | null {
  if (pem.length > MAX_PEM_LENGTH || pem.includes("PRIVATE KEY")) return null;
  try {
    const jwk: JWK = { ...createPublicKey(pem).export({ format: "jwk" }) };
    return isVerificationKey(jwk) ? jwk : null;
  } catch {
    return null;
  }
}

/** True for a key that can only verify: a symmetric key in the key set of an issuer must not be accepted. */
export function isVerificationKey(jwk: JWK): boolean {
  return ASYMMETRIC.has(jwk.kty ?? "") && (jwk.use === undefined || jwk.use === "sig");
}
