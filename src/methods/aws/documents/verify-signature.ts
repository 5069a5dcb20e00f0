import type { Digest } from "./algorithms.ts";
import type { Certificate, PublicKey } from "./certificate.ts";
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
