import type { SignerInfo } from "@peculiar/asn1-cms";
import { AsnConvert } from "@peculiar/asn1-schema";
import { err, ok, type Result } from "../../../base/result.ts";
import { equalBytes } from "../../../crypto/bytes.ts";
import { type Element, readBer, TAG, writeDer } from "./ber.ts";

/** The attributes that a signer's signature covers. */
export type SignedAttributes = {
  /** The DER encoding as a SET: the bytes that are signed (RFC 5652 section 5.4). */
  readonly encoded: Uint8Array<ArrayBuffer>;
  readonly messageDigest: Uint8Array;
  /** When the signer says it signed, in ms; absent when it does not say. */
  readonly signingTime?: number;
};

const CONTENT_TYPE = "1.2.840.113549.1.9.3";
const MESSAGE_DIGEST = "1.2.840.113549.1.9.4";
const SIGNING_TIME = "1.2.840.113549.1.9.5";
const ALGORITHM_PROTECTION = "1.2.840.113549.1.9.52";

/** Content octets of the object identifier id-data. */
const ID_DATA = Uint8Array.of(0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x01);

/** `[1]` as the algorithm protection attribute tags its signature algorithm. */
const SIGNATURE_ALGORITHM_TAG = 0xa1;

/**
 * Reads the signed attributes of a signer. Content type (id-data) and message digest must be there; no attribute may
 * stand twice or have other than one value; algorithm protection (RFC 6211), when there, must name the algorithms that
 * the signer states outside the signature.
 */
export function readSignedAttributes(signer: SignerInfo): Result<SignedAttributes, string> {
  const values = new Map<string, Element>();
  for (const attribute of signer.signedAttrs ?? []) {
    const [value, ...more] = attribute.attrValues;
    if (value === undefined || more.length > 0) return err("a signed attribute does not have exactly one value");
    if (values.has(attribute.attrType)) return err("a signed attribute stands twice");
    const read = readBer(new Uint8Array(value));
    if (!read.ok) return read;
    values.set(attribute.attrType, read.value);
  }

  const contentType = values.get(CONTENT_TYPE);
  if (contentType === undefined || !isPrimitive(contentType, TAG.OBJECT_IDENTIFIER)) {
    return err("signed attributes lack the content type");
  }
  if (!equalBytes(contentType.content, ID_DATA)) return err("signed content type is not plain data");

  const messageDigest = values.get(MESSAGE_DIGEST);
  if (messageDigest === undefined || !isPrimitive(messageDigest, TAG.OCTET_STRING)) {
    return err("signed attributes lack the message digest");
  }

  const protection = values.get(ALGORITHM_PROTECTION);
  if (protection !== undefined && !equalBytes(writeDer(protection), expectedProtection(signer))) {
    return err("signed algorithms differ from the stated ones");
  }

  const encoded = encodeAsSet(signer);
  const time = values.get(SIGNING_TIME);
  if (time === undefined) return ok({ encoded, messageDigest: messageDigest.content });
  const signingTime = readTime(time);
  if (signingTime === null) return err("signing time is malformed");
  return ok({ encoded, messageDigest: messageDigest.content, signingTime });
}

/** DER sorts the members of a SET by their encodings; what was sent may stand in another order. */
function encodeAsSet(signer: SignerInfo): Uint8Array<ArrayBuffer> {
  const members = (signer.signedAttrs ?? []).map((attribute) => new Uint8Array(AsnConvert.serialize(attribute)));
  members.sort(compareBytes);
  const content = Uint8Array.from(members.flatMap((member) => [...member]));
  return writeDer({ tag: TAG.SET, content });
}

function compareBytes(left: Uint8Array, right: Uint8Array): number {
  for (let index = 0; index < Math.min(left.length, right.length); index++) {
    const difference = (left[index] ?? 0) - (right[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
}

function expectedProtection(signer: SignerInfo): Uint8Array {
  const digest = new Uint8Array(AsnConvert.serialize(signer.digestAlgorithm));
  const signature = new Uint8Array(AsnConvert.serialize(signer.signatureAlgorithm));
  signature[0] = SIGNATURE_ALGORITHM_TAG;
  return writeDer({ tag: TAG.SEQUENCE, content: Uint8Array.of(...digest, ...signature) });
}

function isPrimitive(element: Element, tag: number): element is Extract<Element, { content: Uint8Array }> {
  return element.tag === tag && "content" in element;
}

/** UTCTime until 2049 and GeneralizedTime after it, both in DER's only form: seconds, no fraction, `Z`. Result in ms. */
function readTime(element: Element): number | null {
  if (!("content" in element)) return null;
  const text = String.fromCharCode(...element.content);
  let digits: string;
  if (element.tag === TAG.UTC_TIME && /^\d{12}Z$/.test(text)) {
    digits = `${Number(text.slice(0, 2)) < 50 ? "20" : "19"}${text}`;
  } else if (element.tag === TAG.GENERALIZED_TIME && /^\d{14}Z$/.test(text)) {
    digits = text;
  } else {
    return null;
  }
  const iso = digits.replace(/^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/, "$1-$2-$3T$4:$5:$6.000Z");
  const time = Date.parse(iso);
  return Number.isNaN(time) || new Date(time).toISOString() !== iso ? null : time;
}
