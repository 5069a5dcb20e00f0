import { err, ok, type Result } from "../../../base/result.ts";
import {
  type AlgorithmIdentifier,
  contentOf,
  type Element,
  membersOf,
  readAlgorithm,
  readBer,
  readTime,
  TAG,
  writeDer,
} from "./ber.ts";
import { type DsaKey, readDsaKey } from "./dsa.ts";

/** A public key, and the issuer and serial number by which a signer refers to it. */
export type Certificate = {
  /** DER of the issuer's name. */
  readonly issuer: Uint8Array;
  /** Content octets of the INTEGER. */
  readonly serialNumber: Uint8Array;
  /** In ms. */
  readonly notBefore: number;
  /** In ms. */
  readonly notAfter: number;
  readonly key: PublicKey;
  /** True when the certificate's own signature uses SHA-2. All others count as SHA-1. */
  readonly signedWithSha2: boolean;
};

export type PublicKey =
  | { readonly type: "RSA"; readonly spki: Uint8Array<ArrayBuffer> }
  | { readonly type: "DSA"; readonly dsa: DsaKey };

const NOT_ONE = "not a certificate";

/**
 * Reads an X.509 certificate from DER (RFC 5280 section 4.1). Its own signature is not verified: the configuration is
 * trusted.
 */
export function readCertificate(der: Uint8Array): Result<Certificate, string> {
  const element = readBer(der);
  if (!element.ok) return err(NOT_ONE);
  const [toBeSigned, signatureAlgorithm, signature, ...more] = membersOf(element.value, TAG.SEQUENCE) ?? [];
  const members = membersOf(toBeSigned, TAG.SEQUENCE) ?? [];
  const [serial, , issuer, validity, , keyInfo] = members[0]?.tag === TAG.CONTEXT_0 ? members.slice(1) : members;
  const [notBefore, notAfter] = (membersOf(validity, TAG.SEQUENCE) ?? []).map(readTime);
  const serialNumber = contentOf(serial, TAG.INTEGER);
  const ownAlgorithm = readAlgorithm(signatureAlgorithm);
  const isWhole = contentOf(signature, TAG.BIT_STRING) !== null && more.length === 0;
  if (!isWhole || !serialNumber || !ownAlgorithm || issuer?.tag !== TAG.SEQUENCE) return err(NOT_ONE);
  if (typeof notBefore !== "number" || typeof notAfter !== "number") return err(NOT_ONE);
  const key = readKey(keyInfo);
  if (key === null) return err("the key of the certificate is neither RSA nor a sound DSA key");
  const signedWithSha2 = SHA2_SIGNATURES.has(ownAlgorithm.oid);
  return ok({ issuer: writeDer(issuer), serialNumber, notBefore, notAfter, key, signedWithSha2 });
}

/**
 * Reads the key of a SubjectPublicKeyInfo. The BIT STRING has an octet with the number of unused bits before the key.
 */
function readKey(info: Element | undefined): PublicKey | null {
  const [algorithm, key] = membersOf(info, TAG.SEQUENCE) ?? [];
  const stated = readAlgorithm(algorithm);
  const bits = contentOf(key, TAG.BIT_STRING);
  if (!info || !stated || !bits || bits[0] !== 0) return null;
  const type = KEYS.get(stated.oid);
  if (type === "RSA") return { type, spki: writeDer(info) };
  if (type !== "DSA" || !stated.parameters) return null;
  const dsa = readDsaKey(writeDer(stated.parameters), bits.subarray(1));
  return dsa && { type, dsa };
}

export type Digest = "SHA-1" | "SHA-256";
export type KeyType = PublicKey["type"];

const DIGESTS: ReadonlyMap<string, Digest> = new Map([
  ["1.3.14.3.2.26", "SHA-1"],
  ["2.16.840.1.101.3.4.2.1", "SHA-256"],
]);

/** Signature algorithms. Those without a digest use the signer's digest algorithm (RFC 3370 section 3). */
const SIGNATURES: ReadonlyMap<string, { readonly key: KeyType; readonly digest?: Digest }> = new Map([
  ["1.2.840.113549.1.1.1", { key: "RSA" }],
  ["1.2.840.113549.1.1.5", { key: "RSA", digest: "SHA-1" }],
  ["1.2.840.113549.1.1.11", { key: "RSA", digest: "SHA-256" }],
  ["1.2.840.10040.4.1", { key: "DSA" }],
  ["1.2.840.10040.4.3", { key: "DSA", digest: "SHA-1" }],
  ["2.16.840.1.101.3.4.3.2", { key: "DSA", digest: "SHA-256" }],
]);

/** Types of public keys by the algorithm of their SubjectPublicKeyInfo. */
const KEYS: ReadonlyMap<string, KeyType> = new Map([
  ["1.2.840.113549.1.1.1", "RSA"],
  ["1.2.840.10040.4.1", "DSA"],
]);

/** Signature algorithms of certificates that use SHA-2: RSA, ECDSA, Ed25519. */
const SHA2_SIGNATURES: ReadonlySet<string> = new Set([
  "1.2.840.113549.1.1.11",
  "1.2.840.113549.1.1.12",
  "1.2.840.113549.1.1.13",
  "1.2.840.10045.4.3.2",
  "1.2.840.10045.4.3.3",
  "1.2.840.10045.4.3.4",
  "1.3.101.112",
]);

/** The digest of an algorithm identifier; null for an unsupported one, and for one with parameters. */
export function digestOf({ oid, parameters }: AlgorithmIdentifier): Digest | null {
  return parameters === null ? (DIGESTS.get(oid) ?? null) : null;
}

/** The key type of a signature algorithm with `digest`; null for an unsupported one, another digest, or parameters. */
export function signatureKeyOf({ oid, parameters }: AlgorithmIdentifier, digest: Digest): KeyType | null {
  const signature = SIGNATURES.get(oid);
  if (parameters !== null || signature === undefined || (signature.digest ?? digest) !== digest) return null;
  return signature.key;
}
