import { createHash, createPublicKey, type KeyObject, sign } from "node:crypto";

/** A small DER writer and a signer, so that tests can make messages that no tool would make. */

const concat = (...parts: Uint8Array[]) => new Uint8Array(Buffer.concat(parts));

/** One element in definite length. */
export function tlv(tag: number, ...parts: Uint8Array[]): Uint8Array {
  const content = concat(...parts);
  if (content.length < 0x80) return concat(Uint8Array.of(tag, content.length), content);
  const hex = content.length.toString(16);
  const length = Buffer.from(hex.padStart(hex.length + (hex.length % 2), "0"), "hex");
  return concat(Uint8Array.of(tag, 0x80 | length.length), length, content);
}

/** One element in indefinite length. */
export function indefinite(tag: number, ...parts: Uint8Array[]): Uint8Array {
  return concat(Uint8Array.of(tag, 0x80), ...parts, Uint8Array.of(0, 0));
}

export const sequence = (...parts: Uint8Array[]) => tlv(0x30, ...parts);
export const set = (...parts: Uint8Array[]) => tlv(0x31, ...parts);
export const octets = (bytes: Uint8Array) => tlv(0x04, bytes);
export const integer = (...bytes: number[]) => tlv(0x02, Uint8Array.from(bytes));
export const utcTime = (text: string) => tlv(0x17, Buffer.from(text));

export function oid(text: string): Uint8Array {
  const [first = 0, second = 0, ...rest] = text.split(".").map(Number);
  const octetsOf = (arc: number): number[] => {
    const out = [arc & 0x7f];
    for (let left = arc >>> 7; left > 0; left >>>= 7) out.unshift((left & 0x7f) | 0x80);
    return out;
  };
  return tlv(0x06, Uint8Array.from([first * 40 + second, ...rest].flatMap(octetsOf)));
}

export const OID = {
  data: "1.2.840.113549.1.7.1",
  signedData: "1.2.840.113549.1.7.2",
  contentType: "1.2.840.113549.1.9.3",
  messageDigest: "1.2.840.113549.1.9.4",
  signingTime: "1.2.840.113549.1.9.5",
  algorithmProtection: "1.2.840.113549.1.9.52",
  sha1: "1.3.14.3.2.26",
  sha256: "2.16.840.1.101.3.4.2.1",
  sha512: "2.16.840.1.101.3.4.2.3",
  rsa: "1.2.840.113549.1.1.1",
  sha1WithRsa: "1.2.840.113549.1.1.5",
  sha256WithRsa: "1.2.840.113549.1.1.11",
  dsa: "1.2.840.10040.4.1",
  dsaWithSha1: "1.2.840.10040.4.3",
  dsaWithSha256: "2.16.840.1.101.3.4.3.2",
} as const;

export type TestCertificate = { readonly der: Uint8Array; readonly issuer: Uint8Array; readonly serial: Uint8Array };

/** A self-signed certificate, valid from 2020 to 2045. */
export function makeCertificate(
  name: string,
  key: KeyObject,
  serialByte: number,
  signature: "sha1" | "sha256" = "sha256",
): TestCertificate {
  const issuer = sequence(set(sequence(oid("2.5.4.3"), tlv(0x0c, Buffer.from(name)))));
  const serial = integer(serialByte);
  const withRsa = { sha1: OID.sha1WithRsa, sha256: OID.sha256WithRsa }[signature];
  const withDsa = { sha1: OID.dsaWithSha1, sha256: OID.dsaWithSha256 }[signature];
  const algorithm = sequence(oid(key.asymmetricKeyType === "dsa" ? withDsa : withRsa));
  const spki = createPublicKey(key).export({ type: "spki", format: "der" });
  const validity = sequence(utcTime("200101000000Z"), utcTime("450101000000Z"));
  const tbs = sequence(tlv(0xa0, integer(2)), serial, algorithm, issuer, validity, issuer, spki);
  const bits = tlv(0x03, Uint8Array.of(0), sign(signature, tbs, key));
  return { der: sequence(tbs, algorithm, bits), issuer, serial };
}

export const toPem = (der: Uint8Array) =>
  `-----BEGIN CERTIFICATE-----\n${Buffer.from(der)
    .toString("base64")
    .replace(/.{64}(?!$)/g, "$&\n")}\n-----END CERTIFICATE-----\n`;

export type SignerOptions = {
  readonly key: KeyObject;
  readonly certificate: TestCertificate;
  readonly digest?: "sha1" | "sha256" | "sha512";
  readonly signatureAlgorithm?: string;
  /** Replaces the signed attributes; null signs the content itself. */
  readonly attributes?: readonly Uint8Array[] | null;
  /** The attributes as they are sent, when they differ from the ones signed. */
  readonly sentAttributes?: readonly Uint8Array[];
  readonly unsignedAttributes?: readonly Uint8Array[];
  readonly version?: number;
  readonly signature?: (signed: Uint8Array) => Uint8Array;
};

export const attribute = (type: string, ...values: Uint8Array[]) => sequence(oid(type), set(...values));

/** The attributes that the cloud signs: content type, signing time, message digest. */
export function defaultAttributes(content: Uint8Array, digest: "sha1" | "sha256" | "sha512" = "sha256"): Uint8Array[] {
  return [
    attribute(OID.contentType, oid(OID.data)),
    attribute(OID.signingTime, utcTime("260216003828Z")),
    attribute(OID.messageDigest, octets(createHash(digest).update(content).digest())),
  ];
}

const byEncoding = (left: Uint8Array, right: Uint8Array) => Buffer.compare(left, right);

/** A SignerInfo. */
export function makeSigner(content: Uint8Array, options: SignerOptions): Uint8Array {
  const { key, certificate, digest = "sha256" } = options;
  const attributes = options.attributes === undefined ? defaultAttributes(content, digest) : options.attributes;
  const signed = attributes === null ? content : set(...[...attributes].sort(byEncoding));
  const plain = key.asymmetricKeyType === "dsa" ? OID.dsa : OID.rsa;
  const sent = options.sentAttributes ?? attributes;
  return sequence(
    integer(options.version ?? 1),
    sequence(certificate.issuer, certificate.serial),
    sequence(oid(OID[digest])),
    ...(sent === null ? [] : [tlv(0xa0, ...sent)]),
    sequence(oid(options.signatureAlgorithm ?? plain)),
    octets(options.signature?.(signed) ?? sign(digest, signed, key)),
    ...(options.unsignedAttributes ? [tlv(0xa1, ...options.unsignedAttributes)] : []),
  );
}

export type MessageOptions = {
  readonly signers: readonly Uint8Array[];
  readonly digests?: readonly string[];
  readonly embedded?: readonly Uint8Array[];
  readonly crls?: readonly Uint8Array[];
  /** Replaces the encapsulated content; null leaves it out (detached). */
  readonly encapsulated?: Uint8Array | null;
  readonly contentType?: string;
  readonly version?: number;
};

/** CMS signed data in DER. */
export function makeMessage(content: Uint8Array, options: MessageOptions): Uint8Array {
  const encapsulated = options.encapsulated === undefined ? octets(content) : options.encapsulated;
  const signedData = sequence(
    integer(options.version ?? 1),
    set(...(options.digests ?? [OID.sha256]).map((digest) => sequence(oid(digest)))),
    sequence(oid(options.contentType ?? OID.data), ...(encapsulated === null ? [] : [tlv(0xa0, encapsulated)])),
    ...(options.embedded ? [tlv(0xa0, ...options.embedded)] : []),
    ...(options.crls ? [tlv(0xa1, ...options.crls)] : []),
    set(...options.signers),
  );
  return sequence(oid(OID.signedData), tlv(0xa0, signedData));
}
