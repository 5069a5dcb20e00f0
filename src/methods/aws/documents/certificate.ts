import { err, ok, type Result } from "../../../base/result.ts";
import { isSha2Signature, type KeyType, keyTypeOf } from "./algorithms.ts";
import { contentOf, membersOf, readAlgorithm, readTime } from "./asn1.ts";
import { type Element, readBer, TAG, writeDer } from "./ber.ts";
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

const NOT_ONE = "not a certificate";

/**
 * Reads an X.509 certificate from DER (RFC 5280 section 4.1). Its own signature is not checked: it is trusted because it was
 * configured.
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
  const signedWithSha2 = isSha2Signature(ownAlgorithm);
  return ok({ issuer: writeDer(issuer), serialNumber, notBefore, notAfter, key, signedWithSha2 });
}

/** The key of a SubjectPublicKeyInfo, whose last member has an octet of unused bits before the key. */
function readKey(info: Element | undefined): PublicKey | null {
  const [algorithm, key] = membersOf(info, TAG.SEQUENCE) ?? [];
  const stated = readAlgorithm(algorithm);
  const bits = contentOf(key, TAG.BIT_STRING);
  if (!info || !stated || !bits || bits[0] !== 0) return null;
  const type = keyTypeOf(stated);
  if (type === "RSA") return { type, spki: writeDer(info) };
  if (type !== "DSA" || !stated.parameters) return null;
  const dsa = readDsaKey(writeDer(stated.parameters), bits.subarray(1));
  return dsa && { type, dsa };
}
