import { err, ok, type Result } from "../../../base/result.ts";
import { equalBytes } from "../../../crypto/bytes.ts";
import { contentOf, membersOf, readOid, readTime } from "./asn1.ts";
import { type Element, TAG, writeDer } from "./ber.ts";

/** The attributes that a signer's signature covers. */
export type SignedAttributes = {
  /** The DER encoding as a SET: the bytes that are signed (RFC 5652 section 5.4). */
  readonly encoded: Uint8Array<ArrayBuffer>;
  readonly messageDigest: Uint8Array;
  /** When the signer says it signed, in ms; absent when it does not say. */
  readonly signingTime?: number;
};

const DATA = "1.2.840.113549.1.7.1";
const CONTENT_TYPE = "1.2.840.113549.1.9.3";
const MESSAGE_DIGEST = "1.2.840.113549.1.9.4";
const SIGNING_TIME = "1.2.840.113549.1.9.5";
const ALGORITHM_PROTECTION = "1.2.840.113549.1.9.52";

/** The algorithms that a signer states outside its signature. */
interface StatedAlgorithms {
  readonly digest: Element;
  readonly signature: Element;
}

/**
 * Reads the signed attributes of a signer. Content type (id-data) and message digest must be there; no attribute may
 * be there twice or have other than one value; algorithm protection (RFC 6211), when there, must name the algorithms that
 * the signer states outside the signature.
 */
export function readSignedAttributes(
  attributes: readonly Element[],
  stated: StatedAlgorithms,
): Result<SignedAttributes, string> {
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
  if (protection !== undefined && !equalBytes(writeDer(protection), expectedProtection(stated))) {
    return err("signed algorithms differ from the stated ones");
  }

  const encoded = encodeAsSet(attributes);
  const time = values.get(SIGNING_TIME);
  if (time === undefined) return ok({ encoded, messageDigest });
  const signingTime = readTime(time);
  return signingTime === null ? err("signing time is malformed") : ok({ encoded, messageDigest, signingTime });
}

/** DER sorts the members of a SET by their encodings. They may have been sent in another order. */
function encodeAsSet(attributes: readonly Element[]): Uint8Array<ArrayBuffer> {
  const members = attributes.map((element) => ({ element, der: writeDer(element) }));
  members.sort((one, other) => compareBytes(one.der, other.der));
  return writeDer({ tag: TAG.SET, children: members.map(({ element }) => element) });
}

function compareBytes(left: Uint8Array, right: Uint8Array): number {
  for (let index = 0; index < Math.min(left.length, right.length); index++) {
    const difference = (left[index] ?? 0) - (right[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
}

/** The attribute tags its signature algorithm `[1]`. */
function expectedProtection({ digest, signature }: StatedAlgorithms): Uint8Array {
  return writeDer({ tag: TAG.SEQUENCE, children: [digest, { ...signature, tag: TAG.CONTEXT_1 }] });
}
