import type { Certificate } from "../certificates/certificate.ts";
import type { Digest } from "./algorithms.ts";
import { verifyDsa } from "./dsa.ts";

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
    const algorithm = { name: "RSASSA-PKCS1-v1_5", hash: digest };
    const publicKey = await crypto.subtle.importKey("spki", key.spki, algorithm, false, ["verify"]);
    return await crypto.subtle.verify(algorithm, publicKey, signature, message);
  } catch {
    return false;
  }
}
