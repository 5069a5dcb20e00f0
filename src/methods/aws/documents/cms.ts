import { ContentInfo, SignedData, type SignerInfo } from "@peculiar/asn1-cms";
import { AsnConvert } from "@peculiar/asn1-schema";
import { err, ok, type Result } from "../../../base/result.ts";
import { equalBytes } from "../../../crypto/bytes.ts";
import { type Digest, digestOf, type KeyType, signatureKeyOf } from "./algorithms.ts";
import { readSignedAttributes, type SignedAttributes } from "./attributes.ts";
import { type Element, readBer, TAG, writeDer } from "./ber.ts";

/** The contents of CMS signed data; nothing of it is verified yet. */
export type SignedMessage = {
  readonly content: Uint8Array<ArrayBuffer>;
  readonly signers: readonly Signer[];
};

/** A SignerInfo. Its certificate is the one with this issuer and serial number. */
export type Signer = {
  /** DER of the issuer's name. */
  readonly issuer: Uint8Array;
  /** Content octets of the INTEGER. */
  readonly serialNumber: Uint8Array;
  readonly digest: Digest;
  readonly keyType: KeyType;
  /** When absent, the signature is over the content itself. */
  readonly attributes?: SignedAttributes;
  readonly signature: Uint8Array<ArrayBuffer>;
};

const SIGNED_DATA = "1.2.840.113549.1.7.2";
const DATA = "1.2.840.113549.1.7.1";

/** Every signer costs a verification; the cloud's documents have one. */
const MAX_SIGNERS = 4;
/** One for each signer at most. */
const MAX_DIGEST_ALGORITHMS = MAX_SIGNERS;

/**
 * Reads CMS signed data (RFC 5652) from BER. Certificates inside are ignored: whoever signs can embed one. Refused are
 * detached content, no signer, two statements of one signer, revocation lists, attributes outside the signature, and
 * algorithms other than RSA PKCS#1 v1.5 and DSA with SHA-1 or SHA-256.
 */
export function readSignedMessage(ber: Uint8Array): Result<SignedMessage, string> {
  const element = readBer(ber);
  if (!element.ok) return element;
  const crowd = crowdProblem(element.value);
  if (crowd !== null) return err(crowd);
  const signedData = decode(writeDer(element.value));
  if (signedData === null) return err("not well-formed CMS signed data");

  if (signedData.version !== 1) return err("unsupported version of signed data");
  if (signedData.encapContentInfo.eContentType !== DATA) return err("signed content is not plain data");
  if (signedData.crls !== undefined) return err("revocation lists are not supported");
  const content = signedData.encapContentInfo.eContent?.single;
  if (content === undefined || content.byteLength === 0) {
    return err("instance identity document could not be found in the signature");
  }

  const infos = [...signedData.signerInfos];
  if (infos.length === 0) return err("message has no signers");
  const signers: Signer[] = [];
  for (const info of infos) {
    const signer = readSigner(info);
    if (!signer.ok) return signer;
    if (signers.some((other) => isSameSigner(other, signer.value))) return err("a signer stands twice");
    signers.push(signer.value);
  }
  if (!declaresDigestsOf(signedData, signers)) return err("declared digest algorithms differ from the signers'");
  return ok({ content: new Uint8Array(content.buffer), signers });
}

/**
 * Why a message holds more than any signer of documents puts into one, or null. Asked before the schema library reads the
 * message, which costs much more. Where something else stands in the place of a list, that library refuses it.
 */
function crowdProblem(contentInfo: Element): string | null {
  const signedData = childrenOf(childrenOf(contentInfo)[1])[0];
  const members = childrenOf(signedData);
  if (childrenOf(members[1]).length > MAX_DIGEST_ALGORITHMS) return "message has too many digest algorithms";
  const last = members.at(-1);
  return last?.tag === TAG.SET && childrenOf(last).length > MAX_SIGNERS ? "message has too many signers" : null;
}

function childrenOf(element: Element | undefined): readonly Element[] {
  return element !== undefined && "children" in element ? element.children : [];
}

/**
 * The schema library skips members that it cannot read and so would lose a signer that it does not understand. Encoding
 * the result again must give the same bytes: then nothing was skipped, and nothing had a second spelling.
 */
function decode(der: Uint8Array): SignedData | null {
  try {
    const info = AsnConvert.parse(der, ContentInfo);
    if (info.contentType !== SIGNED_DATA) return null;
    const signedData = AsnConvert.parse(info.content, SignedData);
    info.content = AsnConvert.serialize(signedData);
    return equalBytes(new Uint8Array(AsnConvert.serialize(info)), der) ? signedData : null;
  } catch {
    return null;
  }
}

function readSigner(info: SignerInfo): Result<Signer, string> {
  const id = info.sid.issuerAndSerialNumber;
  if (info.version !== 1 || id === undefined) return err("signer is not named by issuer and serial number");
  if (info.unsignedAttrs !== undefined) return err("attributes outside the signature are not supported");
  const digest = digestOf(info.digestAlgorithm);
  if (digest === null) return err("unsupported digest algorithm");
  const keyType = signatureKeyOf(info.signatureAlgorithm, digest);
  if (keyType === null) return err("unsupported signature algorithm");

  const signer = {
    issuer: new Uint8Array(AsnConvert.serialize(id.issuer)),
    serialNumber: new Uint8Array(id.serialNumber),
    digest,
    keyType,
    signature: new Uint8Array(info.signature.buffer),
  };
  if (info.signedAttrs === undefined) return ok(signer);
  const attributes = readSignedAttributes(info);
  return attributes.ok ? ok({ ...signer, attributes: attributes.value }) : attributes;
}

function isSameSigner(left: Signer, right: Signer): boolean {
  return equalBytes(left.issuer, right.issuer) && equalBytes(left.serialNumber, right.serialNumber);
}

function declaresDigestsOf(signedData: SignedData, signers: readonly Signer[]): boolean {
  const declared = [...signedData.digestAlgorithms].map(digestOf);
  const used = new Set<Digest | null>(signers.map((signer) => signer.digest));
  return declared.length === used.size && declared.every((digest) => used.delete(digest));
}
