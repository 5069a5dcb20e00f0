import type { Ms } from "../../../base/clock.ts";
import { err, ok, type Result } from "../../../base/result.ts";
import { equalBytes, toHex } from "../../../crypto/bytes.ts";
import {
  contentOf,
  type Element,
  membersOf,
  readAlgorithm,
  readBer,
  readOid,
  readSmallInteger,
  readTime,
  TAG,
  writeDer,
} from "./ber.ts";
import { type CertificateId, type Digest, digestOf, type KeyType, signatureKeyOf } from "./certificate.ts";

/** CMS signed data before verification. */
export type SignedMessage = { readonly content: Uint8Array<ArrayBuffer>; readonly signers: readonly CmsSigner[] };

/** A SignerInfo. The issuer and the serial number identify its certificate. */
export type CmsSigner = CertificateId & {
  readonly digest: Digest;
  readonly keyType: KeyType;
  /** If absent, the signature covers the content itself. */
  readonly attributes?: SignedAttributes;
  readonly signature: Uint8Array<ArrayBuffer>;
};

const SIGNED_DATA = "1.2.840.113549.1.7.2";
const DATA = "1.2.840.113549.1.7.1";

/** Each signer costs a verification. The cloud's documents have one. */
const MAX_SIGNERS = 4;

const MALFORMED = "not well-formed CMS signed data";

/**
 * Reads CMS signed data (RFC 5652 section 5) from BER. Embedded certificates are ignored: an attacker can embed one.
 * Refused are detached content, no signer, a repeated signer, revocation lists, attributes outside the signature, and
 * algorithms other than RSA PKCS#1 v1.5 and DSA with SHA-1 or SHA-256. Unknown members are refused too, so that no
 * signer is skipped.
 */
export function readSignedMessage(ber: Uint8Array): Result<SignedMessage, string> {
  const element = readBer(ber);
  if (!element.ok) return element;
  const [version, digests, encapsulated, ...rest] = membersOfSignedData(element.value);
  const versionNumber = readSmallInteger(version);
  const algorithms = membersOf(digests, TAG.SET);
  const infos = membersOf(rest.pop(), TAG.SET);
  if (versionNumber === null || !algorithms || !infos) return err(MALFORMED);
  if (versionNumber !== 1) return err("unsupported version of signed data");
  if (algorithms.length > MAX_SIGNERS) return err("message has too many digest algorithms");
  if (infos.length > MAX_SIGNERS) return err("message has too many signers");
  const content = readContent(encapsulated);
  if (!content.ok) return content;
  if (rest[0]?.tag === TAG.CONTEXT_0) rest.shift();
  if (rest[0]?.tag === TAG.CONTEXT_1) return err("revocation lists are not supported");
  if (rest.length > 0) return err(MALFORMED);

  if (infos.length === 0) return err("message has no signers");
  const signers: CmsSigner[] = [];
  for (const info of infos) {
    const signer = readSigner(info);
    if (!signer.ok) return signer;
    if (signers.some((other) => isIssuedAs(other, signer.value))) return err("a signer stands twice");
    signers.push(signer.value);
  }
  const declared = algorithms.map(readAlgorithm);
  if (declared.includes(null)) return err(MALFORMED);
  const declaredDigests = declared.map((algorithm) => algorithm && digestOf(algorithm));
  if (!areDigestsOf(declaredDigests, signers)) return err("declared digest algorithms differ from the signers'");
  return ok({ content: content.value, signers });
}

/** Members of the SignedData in a ContentInfo; none for any other content. */
function membersOfSignedData(contentInfo: Element): readonly Element[] {
  const [type, content, ...more] = membersOf(contentInfo, TAG.SEQUENCE) ?? [];
  const [signedData, ...others] = membersOf(content, TAG.CONTEXT_0) ?? [];
  const isAlone = more.length === 0 && others.length === 0;
  return (isAlone && readOid(type) === SIGNED_DATA && membersOf(signedData, TAG.SEQUENCE)) || [];
}

function readContent(encapsulated: Element | undefined): Result<Uint8Array<ArrayBuffer>, string> {
  const [type, wrapped, ...more] = membersOf(encapsulated, TAG.SEQUENCE) ?? [];
  const oid = readOid(type);
  if (oid === null || more.length > 0) return err(MALFORMED);
  if (oid !== DATA) return err("signed content is not plain data");
  const [element, ...others] = membersOf(wrapped, TAG.CONTEXT_0) ?? [];
  const content = others.length === 0 ? contentOf(element, TAG.OCTET_STRING) : null;
  if (!content?.length) return err("instance identity document could not be found in the signature");
  return ok(new Uint8Array(content));
}

function readSigner(info: Element): Result<CmsSigner, string> {
  const [version, id, digestAlgorithm, ...rest] = membersOf(info, TAG.SEQUENCE) ?? [];
  const signed = membersOf(rest[0], TAG.CONTEXT_0);
  if (signed) rest.shift();
  const [signatureAlgorithm, signatureElement, unsigned, ...more] = rest;
  const [issuer, serial, ...others] = membersOf(id, TAG.SEQUENCE) ?? [];
  const serialNumber = contentOf(serial, TAG.INTEGER);
  const isNamed = issuer?.tag === TAG.SEQUENCE && serialNumber !== null && others.length === 0;
  if (readSmallInteger(version) !== 1 || !isNamed) return err("signer is not named by issuer and serial number");

  const [statedDigest, statedSignature] = [readAlgorithm(digestAlgorithm), readAlgorithm(signatureAlgorithm)];
  const signature = contentOf(signatureElement, TAG.OCTET_STRING);
  if (!digestAlgorithm || !statedDigest || !signatureAlgorithm || !statedSignature || !signature) return err(MALFORMED);
  if (unsigned?.tag === TAG.CONTEXT_1) return err("attributes outside the signature are not supported");
  if (unsigned || more.length > 0) return err(MALFORMED);
  const digest = digestOf(statedDigest);
  if (digest === null) return err("unsupported digest algorithm");
  const keyType = signatureKeyOf(statedSignature, digest);
  if (keyType === null) return err("unsupported signature algorithm");

  const signer = { issuer: writeDer(issuer), serialNumber, digest, keyType, signature: new Uint8Array(signature) };
  if (!signed) return ok(signer);
  const attributes = readSignedAttributes(signed, digestAlgorithm, signatureAlgorithm);
  return attributes.ok ? ok({ ...signer, attributes: attributes.value }) : attributes;
}

/** True when two have the same issuer and serial number, as a signer and its certificate. */
export function isIssuedAs(left: CertificateId, right: CertificateId): boolean {
  return equalBytes(left.serialNumber, right.serialNumber) && equalBytes(left.issuer, right.issuer);
}

function areDigestsOf(declared: readonly (Digest | null)[], signers: readonly CmsSigner[]): boolean {
  const used = new Set<Digest | null>(signers.map((signer) => signer.digest));
  return declared.length === used.size && declared.every((digest) => used.delete(digest));
}

type SignedAttributes = {
  /** The DER encoding as a SET: the bytes that are signed (RFC 5652 section 5.4). */
  readonly encoded: Uint8Array<ArrayBuffer>;
  readonly messageDigest: Uint8Array;
  readonly signingTime?: Ms;
};

const CONTENT_TYPE = "1.2.840.113549.1.9.3";
const MESSAGE_DIGEST = "1.2.840.113549.1.9.4";
const SIGNING_TIME = "1.2.840.113549.1.9.5";
const ALGORITHM_PROTECTION = "1.2.840.113549.1.9.52";

/**
 * Reads the signed attributes of a signer. Content type (id-data) and message digest are required. No attribute may
 * be repeated, and each must have one value. Algorithm protection (RFC 6211), if present, must name the algorithms
 * that the signer states outside its signature.
 */
function readSignedAttributes(attributes: readonly Element[], statedDigest: Element, statedSignature: Element) {
  const values = new Map<string, Element>();
  for (const attribute of attributes) {
    const [type, set, ...others] = membersOf(attribute, TAG.SEQUENCE) ?? [];
    const oid = readOid(type);
    const [value, ...more] = membersOf(set, TAG.SET) ?? [];
    if (oid === null || others.length > 0) return err("a signed attribute is malformed");
    if (value === undefined || more.length > 0) return err("a signed attribute does not have exactly one value");
    if (values.has(oid)) return err("a signed attribute stands twice");
    values.set(oid, value);
  }

  const contentType = readOid(values.get(CONTENT_TYPE));
  if (contentType === null) return err("signed attributes lack the content type");
  if (contentType !== DATA) return err("signed content type is not plain data");
  const messageDigest = contentOf(values.get(MESSAGE_DIGEST), TAG.OCTET_STRING);
  if (messageDigest === null) return err("signed attributes lack the message digest");
  const protection = values.get(ALGORITHM_PROTECTION);
  // An algorithm protection attribute tags its signature algorithm with `[1]`.
  const expected = { tag: TAG.SEQUENCE, children: [statedDigest, { ...statedSignature, tag: TAG.CONTEXT_1 }] };
  if (protection !== undefined && !equalBytes(writeDer(protection), writeDer(expected))) {
    return err("signed algorithms differ from the stated ones");
  }

  const encoded = encodeAsSet(attributes);
  const time = values.get(SIGNING_TIME);
  if (time === undefined) return ok({ encoded, messageDigest });
  const signingTime = readTime(time);
  return signingTime === null ? err("signing time is malformed") : ok({ encoded, messageDigest, signingTime });
}

/** Encodes the attributes as a SET. DER sorts the members by their encodings; the message may have another order. */
function encodeAsSet(attributes: readonly Element[]): Uint8Array<ArrayBuffer> {
  const members = attributes.map((element) => ({ element, hex: toHex(writeDer(element)) }));
  members.sort((one, other) => (one.hex < other.hex ? -1 : 1));
  return writeDer({ tag: TAG.SET, children: members.map(({ element }) => element) });
}
