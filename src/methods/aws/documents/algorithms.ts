import type { AlgorithmIdentifier } from "./asn1.ts";

export type Digest = "SHA-1" | "SHA-256";
export type KeyType = "RSA" | "DSA";

const DIGESTS: ReadonlyMap<string, Digest> = new Map([
  ["1.3.14.3.2.26", "SHA-1"],
  ["2.16.840.1.101.3.4.2.1", "SHA-256"],
]);

/** Signature algorithms; the ones without a digest take the signer's digest algorithm (RFC 3370 section 3). */
const SIGNATURES: ReadonlyMap<string, { readonly key: KeyType; readonly digest?: Digest }> = new Map([
  ["1.2.840.113549.1.1.1", { key: "RSA" }],
  ["1.2.840.113549.1.1.5", { key: "RSA", digest: "SHA-1" }],
  ["1.2.840.113549.1.1.11", { key: "RSA", digest: "SHA-256" }],
  ["1.2.840.10040.4.1", { key: "DSA" }],
  ["1.2.840.10040.4.3", { key: "DSA", digest: "SHA-1" }],
  ["2.16.840.1.101.3.4.3.2", { key: "DSA", digest: "SHA-256" }],
]);

const KEYS: ReadonlyMap<string, KeyType> = new Map([
  ["1.2.840.113549.1.1.1", "RSA"],
  ["1.2.840.10040.4.1", "DSA"],
]);

/** Signatures of the SHA-2 family that a certificate may bear itself: RSA, ECDSA, Ed25519. */
const SHA2_SIGNATURES: ReadonlySet<string> = new Set([
  "1.2.840.113549.1.1.11",
  "1.2.840.113549.1.1.12",
  "1.2.840.113549.1.1.13",
  "1.2.840.10045.4.3.2",
  "1.2.840.10045.4.3.3",
  "1.2.840.10045.4.3.4",
  "1.3.101.112",
]);

/** The digest of an algorithm identifier; null when it is not one of ours or carries parameters. */
export function digestOf({ oid, parameters }: AlgorithmIdentifier): Digest | null {
  return parameters === null ? (DIGESTS.get(oid) ?? null) : null;
}

/**
 * The key type of a signature algorithm made with `digest`; null when the algorithm is not one of ours, carries
 * parameters or names another digest.
 */
export function signatureKeyOf({ oid, parameters }: AlgorithmIdentifier, digest: Digest): KeyType | null {
  const signature = SIGNATURES.get(oid);
  if (parameters !== null || signature === undefined || (signature.digest ?? digest) !== digest) return null;
  return signature.key;
}

/** The type of a public key by the algorithm of its SubjectPublicKeyInfo. */
export function keyTypeOf({ oid }: AlgorithmIdentifier): KeyType | null {
  return KEYS.get(oid) ?? null;
}

/** Whether a certificate's own signature is of the SHA-2 family. */
export function isSha2Signature({ oid }: AlgorithmIdentifier): boolean {
  return SHA2_SIGNATURES.has(oid);
}
