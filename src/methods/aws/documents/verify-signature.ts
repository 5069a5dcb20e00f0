import type { Certificate, Digest, PublicKey } from "./certificate.ts";
import { verifyDsa } from "./dsa.ts";

type RsaKey = Extract<PublicKey, { type: "RSA" }>;

const ALGORITHM = "RSASSA-PKCS1-v1_5";

/** Keys that were imported, one for each digest. */
const imported: Readonly<Record<Digest, WeakMap<RsaKey, CryptoKey>>> = {
  "SHA-1": new WeakMap(),
  "SHA-256": new WeakMap(),
};

async function importedKey(key: RsaKey, hash: Digest): Promise<CryptoKey> {
  const known = imported[hash].get(key);
  if (known) return known;
  const publicKey = await crypto.subtle.importKey("spki", key.spki, { name: ALGORITHM, hash }, false, ["verify"]);
  imported[hash].set(key, publicKey);
  return publicKey;
}

/** Whether `signature` over `message` verifies with the certificate's key: RSA PKCS#1 v1.5, or DSA. */
export async function verifySignature(
  certificate: Certificate,
  digest: Digest,
  message: Uint8Array<ArrayBuffer>,
  signature: Uint8Array<ArrayBuffer>,
): Promise<boolean> {
  const { key } = certificate;
  if (key.type === "DSA") {
    return verifyDsa(key.dsa, new Uint8Array(await crypto.subtle.digest(digest, message)), signature);
  }
  try {
    const publicKey = await importedKey(key, digest);
    return await crypto.subtle.verify(ALGORITHM, publicKey, signature, message);
  } catch {
    return false;
  }
}

/** The installation setting that brings back SHA-1, which has been open to forgery since 2017. */
const ALLOW_SHA1_SETTING = "ALLOW_SHA1_SIGNATURES";

/**
 * The refusal of a signature that the installation does not allow: made with SHA-1 or with DSA (whose published keys
 * are all of 1024 bits), or checked with a certificate that is itself signed with SHA-1. Null when allowed.
 */
export function sha1Refusal(certificate: Certificate, digest: Digest, allowSha1: boolean): string | null {
  if (allowSha1) return null;
  const advice = `use the document of the rsa2048 endpoint in pkcs7, or set ${ALLOW_SHA1_SETTING}`;
  if (digest === "SHA-1") return `signatures with SHA-1 are refused; ${advice}`;
  if (certificate.key.type === "DSA") return `signatures with DSA are refused; ${advice}`;
  if (!certificate.signedWithSha2) return `certificates signed with SHA-1 are refused; ${advice}`;
  return null;
}
