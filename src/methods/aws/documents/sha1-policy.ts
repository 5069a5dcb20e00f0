import type { Digest } from "./algorithms.ts";
import type { Certificate } from "./certificate.ts";

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
