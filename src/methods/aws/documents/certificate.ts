import { AsnConvert } from "@peculiar/asn1-schema";
import { Certificate as X509 } from "@peculiar/asn1-x509";
import { err, ok, type Result } from "../../../base/result.ts";
import { isSha2Signature, type KeyType, keyTypeOf } from "./algorithms.ts";
import { readBer } from "./ber.ts";
import { type DsaKey, readDsaKey } from "./dsa.ts";

/** What a signature is checked with: a public key, and the names by which a signer refers to it. */
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
  /** Whether the certificate's own signature is of the SHA-2 family; the others count as SHA-1. */
  readonly signedWithSha2: boolean;
};

export type PublicKey =
  | { readonly type: Extract<KeyType, "RSA">; readonly spki: Uint8Array<ArrayBuffer> }
  | { readonly type: Extract<KeyType, "DSA">; readonly dsa: DsaKey };

/** Reads an X.509 certificate from DER. Its own signature is not checked: it is trusted because it was configured. */
export function readCertificate(der: Uint8Array): Result<Certificate, string> {
  if (!readBer(der).ok) return err("not a certificate");
  let certificate: X509;
  try {
    certificate = AsnConvert.parse(der, X509);
  } catch {
    return err("not a certificate");
  }
  const { tbsCertificate } = certificate;
  const key = readKey(tbsCertificate.subjectPublicKeyInfo);
  if (key === null) return err("the key of the certificate is neither RSA nor a sound DSA key");
  return ok({
    issuer: new Uint8Array(AsnConvert.serialize(tbsCertificate.issuer)),
    serialNumber: new Uint8Array(tbsCertificate.serialNumber),
    notBefore: tbsCertificate.validity.notBefore.getTime().getTime(),
    notAfter: tbsCertificate.validity.notAfter.getTime().getTime(),
    key,
    signedWithSha2: isSha2Signature(certificate.signatureAlgorithm),
  });
}

function readKey(info: X509["tbsCertificate"]["subjectPublicKeyInfo"]): PublicKey | null {
  const type = keyTypeOf(info.algorithm);
  if (type === "RSA") return { type, spki: new Uint8Array(AsnConvert.serialize(info)) };
  if (type !== "DSA" || !info.algorithm.parameters) return null;
  const dsa = readDsaKey(new Uint8Array(info.algorithm.parameters), new Uint8Array(info.subjectPublicKey));
  return dsa && { type, dsa };
}
