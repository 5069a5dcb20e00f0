import { generateKeyPairSync, sign } from "node:crypto";
import { describe, expect, it, vi } from "vitest";
import type { RegisteredCertificate } from "../../../../../src/methods/aws/documents/certificate.ts";
import { verifyPkcs7 } from "../../../../../src/methods/aws/documents/identity-document.ts";
import {
  attribute,
  defaultAttributes,
  indefinite,
  integer,
  type MessageOptions,
  makeCertificate,
  makeMessage,
  makeSigner,
  OID,
  octets,
  oid,
  type SignerOptions,
  sequence,
  set,
  tlv,
  toPem,
  utcTime,
} from "./make.ts";

const document = {
  accountId: "123456789012",
  instanceId: "i-0123456789abcdef0",
  imageId: "ami-0123456789abcdef0",
  region: "xx-test-1",
  pendingTime: "2026-02-16T00:38:27Z",
};
const content = new TextEncoder().encode(JSON.stringify(document));

const ours = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
const second = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
const attacker = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
const dsaKey = generateKeyPairSync("dsa", { modulusLength: 2048, divisorLength: 256 }).privateKey;

const ourCertificate = makeCertificate("cloud", ours, 1);
const secondCertificate = makeCertificate("cloud", second, 2);
const sha1Certificate = makeCertificate("cloud", second, 3, "sha1");
const dsaCertificate = makeCertificate("cloud", dsaKey, 4);
/** An attacker's certificate with the names of the trusted one. */
const attackerCertificate = makeCertificate("cloud", attacker, 1);

const registered: RegisteredCertificate[] = [ourCertificate, secondCertificate, sha1Certificate, dsaCertificate].map(
  ({ der }) => ({ type: "pkcs7", pem: toPem(der) }),
);

const us: SignerOptions = { key: ours, certificate: ourCertificate };

async function verdict(message: Uint8Array, allowSha1 = false): Promise<string> {
  const result = await verifyPkcs7(Buffer.from(message).toString("base64"), registered, { allowSha1 });
  if (result.ok) return "accepted";
  return "message" in result.error ? result.error.message : result.error.code;
}

const signedBy = (signer: Partial<SignerOptions>, options: Partial<MessageOptions> = {}) =>
  makeMessage(content, { signers: [makeSigner(content, { ...us, ...signer })], ...options });

describe("a message signed by a registered certificate", () => {
  it("is accepted", async () => {
    expect(await verdict(signedBy({}))).toBe("accepted");
    expect(await verdict(signedBy({ signatureAlgorithm: OID.sha256WithRsa }))).toBe("accepted");
  });

  it("is accepted without signed attributes", async () => {
    expect(await verdict(signedBy({ attributes: null }))).toBe("accepted");
  });

  it("is accepted with attributes sent in another order than the one signed", async () => {
    const attributes = defaultAttributes(content);
    expect(await verdict(signedBy({ attributes, sentAttributes: attributes.toReversed() }))).toBe("accepted");
  });

  it("is accepted with its own certificate embedded, as usual tools do", async () => {
    expect(await verdict(signedBy({}, { embedded: [ourCertificate.der] }))).toBe("accepted");
  });

  it("is accepted from two signers when both verify", async () => {
    const signers = [
      makeSigner(content, us),
      makeSigner(content, { ...us, key: second, certificate: secondCertificate }),
    ];
    expect(await verdict(makeMessage(content, { signers }))).toBe("accepted");
  });

  it("is refused with a certificate registered for the other kind of signature", async () => {
    const other: RegisteredCertificate[] = [{ type: "identity", pem: toPem(ourCertificate.der) }];
    const result = await verifyPkcs7(Buffer.from(signedBy({})).toString("base64"), other, { allowSha1: false });
    expect(result.ok).toBe(false);
  });
});

describe("forged PKCS#7", () => {
  it("an embedded certificate is never trusted", async () => {
    const stranger = makeCertificate("stranger", attacker, 9);
    const signer = makeSigner(content, { key: attacker, certificate: stranger });
    const message = makeMessage(content, { signers: [signer], embedded: [stranger.der] });
    expect(await verdict(message)).toMatch(/no certificate for signer/);
  });

  it("an embedded certificate with the names of a trusted one does not replace it", async () => {
    const signer = makeSigner(content, { key: attacker, certificate: attackerCertificate });
    const message = makeMessage(content, { signers: [signer], embedded: [attackerCertificate.der] });
    expect(await verdict(message)).toMatch(/signature mismatch/);
  });

  it("no signer", async () => {
    expect(await verdict(makeMessage(content, { signers: [], digests: [] }))).toMatch(/no signers/);
  });

  it("a second signer that does not verify", async () => {
    const good = makeSigner(content, us);
    const bad = makeSigner(content, { key: attacker, certificate: secondCertificate });
    for (const signers of [
      [good, bad],
      [bad, good],
    ]) {
      expect(await verdict(makeMessage(content, { signers }))).toMatch(/signature mismatch/);
    }
  });

  it("a second signer that cannot be read", async () => {
    const good = makeSigner(content, us);
    for (const bad of [sequence(), sequence(integer(1)), set(), octets(good)]) {
      expect(await verdict(makeMessage(content, { signers: [good, bad] }))).not.toBe("accepted");
      expect(await verdict(makeMessage(content, { signers: [bad, good] }))).not.toBe("accepted");
    }
  });

  it("a signer twice, and too many signers", async () => {
    const good = makeSigner(content, us);
    expect(await verdict(makeMessage(content, { signers: [good, good] }))).toMatch(/stands twice/);
    const many = Array.from({ length: 5 }, (_, index) =>
      makeSigner(content, { ...us, certificate: { ...ourCertificate, serial: integer(index + 20) } }),
    );
    expect(await verdict(makeMessage(content, { signers: many }))).toMatch(/too many signers/);
  });

  it("more digest algorithms than signers can use, before they are read", async () => {
    const digests = Array.from({ length: 5 }, (_, index) => `1.2.${index}`);
    expect(await verdict(makeMessage(content, { signers: [makeSigner(content, us)], digests }))).toMatch(
      /too many digest algorithms/,
    );
  });

  it("a signer that names another issuer", async () => {
    const { issuer } = makeCertificate("other", ours, 1);
    expect(await verdict(signedBy({ certificate: { ...ourCertificate, issuer } }))).toMatch(
      /no certificate for signer/,
    );
  });

  it("a message digest of other content", async () => {
    const attributes = defaultAttributes(new TextEncoder().encode("{}"));
    expect(await verdict(signedBy({ attributes }))).toMatch(/message digest mismatch/);
  });

  it("detached or empty content", async () => {
    expect(await verdict(signedBy({}, { encapsulated: null }))).toMatch(/could not be found/);
    expect(await verdict(signedBy({}, { encapsulated: octets(new Uint8Array()) }))).toMatch(/could not be found/);
  });

  it("content that is not an octet string", async () => {
    expect(await verdict(signedBy({}, { encapsulated: tlv(0x0c, content) }))).toMatch(/could not be found/);
  });

  it("SHA-1 with RSA, unless the setting is on", async () => {
    const message = signedBy({ digest: "sha1" }, { digests: [OID.sha1] });
    expect(await verdict(message)).toMatch(/SHA-1.*ALLOW_SHA1_SIGNATURES/);
    expect(await verdict(message, true)).toBe("accepted");
  });

  it("a certificate that is itself signed with SHA-1, unless the setting is on", async () => {
    const message = signedBy({ key: second, certificate: sha1Certificate });
    expect(await verdict(message)).toMatch(/certificates signed with SHA-1.*rsa2048.*ALLOW_SHA1_SIGNATURES/);
    expect(await verdict(message, true)).toBe("accepted");
  });

  it("DSA, with SHA-256 too, unless the setting is on", async () => {
    const message = signedBy({ key: dsaKey, certificate: dsaCertificate });
    expect(await verdict(message)).toMatch(/DSA.*ALLOW_SHA1_SIGNATURES/);
    expect(await verdict(message, true)).toBe("accepted");
    const named = signedBy({ key: dsaKey, certificate: dsaCertificate, signatureAlgorithm: OID.dsaWithSha256 });
    expect(await verdict(named, true)).toBe("accepted");
  });

  it("a DSA signature by another key", async () => {
    const other = generateKeyPairSync("dsa", { modulusLength: 2048, divisorLength: 256 }).privateKey;
    expect(await verdict(signedBy({ key: other, certificate: dsaCertificate }), true)).toMatch(/signature mismatch/);
  });

  it("signed attributes without a message digest, or without a content type", async () => {
    const [contentType = oid(OID.data), , messageDigest = oid(OID.data)] = defaultAttributes(content);
    expect(await verdict(signedBy({ attributes: [contentType] }))).toMatch(/lack the message digest/);
    expect(await verdict(signedBy({ attributes: [messageDigest] }))).toMatch(/lack the content type/);
  });

  it("signed attributes that are empty", async () => {
    expect(await verdict(signedBy({ attributes: [] }))).not.toBe("accepted");
  });

  it("a content type other than plain data", async () => {
    const [, , messageDigest = oid(OID.data)] = defaultAttributes(content);
    const attributes = [attribute(OID.contentType, oid(OID.signedData)), messageDigest];
    expect(await verdict(signedBy({ attributes }))).toMatch(/content type is not plain data/);
    expect(await verdict(signedBy({}, { contentType: OID.signedData }))).toMatch(/content is not plain data/);
  });

  it("an attribute twice, or with two values or none", async () => {
    const defaults = defaultAttributes(content);
    const digest = octets(new Uint8Array(32));
    const twice = [...defaults, attribute(OID.messageDigest, digest)];
    expect(await verdict(signedBy({ attributes: twice }))).toMatch(/stands twice/);
    for (const values of [[], [digest, digest]]) {
      const attributes = [attribute(OID.contentType, oid(OID.data)), attribute(OID.messageDigest, ...values)];
      expect(await verdict(signedBy({ attributes }))).toMatch(/exactly one value/);
    }
  });

  it("attributes that were changed after signing", async () => {
    const attributes = defaultAttributes(content);
    const [contentType = oid(OID.data), , messageDigest = oid(OID.data)] = attributes;
    const later = [contentType, attribute(OID.signingTime, utcTime("270216003828Z")), messageDigest];
    expect(await verdict(signedBy({ attributes, sentAttributes: later }))).toMatch(/signature mismatch/);
    expect(await verdict(signedBy({ attributes, sentAttributes: [contentType, messageDigest] }))).toMatch(/mismatch/);
  });

  it("the encoded attributes passed off as the content", async () => {
    const attributes = set(...defaultAttributes(content).sort(Buffer.compare));
    const signer = makeSigner(attributes, { ...us, attributes: null });
    expect(await verdict(makeMessage(attributes, { signers: [signer] }))).toMatch(/not a JSON object/);
  });

  it("a signing time outside the certificate's validity, or malformed", async () => {
    const [contentType = oid(OID.data), , messageDigest = oid(OID.data)] = defaultAttributes(content);
    const at = (time: Uint8Array) =>
      verdict(signedBy({ attributes: [contentType, attribute(OID.signingTime, time), messageDigest] }));
    expect(await at(utcTime("191231235959Z"))).toMatch(/outside the validity/);
    expect(await at(utcTime("460101000000Z"))).toMatch(/outside the validity/);
    expect(await at(tlv(0x18, Buffer.from("20600101000000Z")))).toMatch(/outside the validity/);
    expect(await at(utcTime("261331000000Z"))).toMatch(/malformed/);
    expect(await at(utcTime("260230000000Z"))).toMatch(/malformed/);
    expect(await at(utcTime("2602160038Z"))).toMatch(/formed/);
    expect(await at(octets(Buffer.from("260216003828Z")))).toMatch(/malformed/);
  });

  it("algorithms other than the ones that the signature protects", async () => {
    const protect = (digest: string, signature: string) => [
      ...defaultAttributes(content),
      attribute(OID.algorithmProtection, sequence(sequence(oid(digest)), tlv(0xa1, oid(signature)))),
    ];
    expect(await verdict(signedBy({ attributes: protect(OID.sha256, OID.rsa) }))).toBe("accepted");
    expect(await verdict(signedBy({ attributes: protect(OID.sha1, OID.rsa) }))).toMatch(/signed algorithms differ/);
    const other = signedBy({ attributes: protect(OID.sha256, OID.rsa), signatureAlgorithm: OID.sha256WithRsa });
    expect(await verdict(other)).toMatch(/signed algorithms differ/);
  });

  it("unsupported or contradictory algorithms", async () => {
    expect(await verdict(signedBy({ digest: "sha512" }, { digests: [OID.sha512] }))).toMatch(/unsupported digest/);
    expect(await verdict(signedBy({ signatureAlgorithm: OID.sha1WithRsa }))).toMatch(/unsupported signature/);
    expect(await verdict(signedBy({ signatureAlgorithm: "1.2.840.113549.1.1.10" }))).toMatch(/unsupported signature/);
    expect(await verdict(signedBy({ signatureAlgorithm: OID.dsa }))).toMatch(/no certificate for signer/);
    expect(await verdict(signedBy({}, { digests: [OID.sha1] }))).toMatch(/declared digest/);
    expect(await verdict(signedBy({}, { digests: [OID.sha256, OID.sha1] }))).toMatch(/declared digest/);
    expect(await verdict(signedBy({}, { digests: [OID.sha256, OID.sha256] }))).toMatch(/declared digest/);
  });

  it("a padding other than PKCS#1 v1.5, and no signature", async () => {
    const pss = (signed: Uint8Array) => sign("sha256", signed, { key: ours, padding: 6 });
    expect(await verdict(signedBy({ signature: pss }))).toMatch(/signature mismatch/);
    expect(await verdict(signedBy({ signature: () => new Uint8Array() }))).toMatch(/signature mismatch/);
  });

  it("attributes outside the signature, revocation lists, other versions", async () => {
    const unsignedAttributes = [attribute(OID.messageDigest, octets(new Uint8Array(32)))];
    expect(await verdict(signedBy({ unsignedAttributes }))).toMatch(/outside the signature/);
    expect(await verdict(signedBy({}, { crls: [tlv(0xa1, oid(OID.data), integer(1))] }))).toMatch(/revocation/);
    expect(await verdict(signedBy({}, { version: 3 }))).toMatch(/version/);
    expect(await verdict(signedBy({ version: 3 }))).toMatch(/issuer and serial/);
  });

  it("trailing data, at the end and inside", async () => {
    const message = signedBy({});
    expect(await verdict(Buffer.concat([message, Uint8Array.of(0)]))).toMatch(/follows/);
    expect(await verdict(Buffer.concat([message, message]))).toMatch(/follows/);
    const algorithm = (extra: Uint8Array[]) => set(sequence(oid(OID.sha256), ...extra));
    const encapsulated = sequence(oid(OID.data), tlv(0xa0, octets(content)));
    const wrap = (...members: Uint8Array[]) => sequence(oid(OID.signedData), tlv(0xa0, sequence(...members)));
    const signers = set(makeSigner(content, us));
    const nothing = tlv(0x05);
    expect(await verdict(wrap(integer(1), algorithm([nothing]), encapsulated, signers))).toBe("accepted");
    for (const message of [
      wrap(integer(1), algorithm([nothing, integer(1)]), encapsulated, signers),
      wrap(integer(1), algorithm([tlv(0x05, integer(1))]), encapsulated, signers),
      wrap(integer(0, 1), algorithm([]), encapsulated, signers),
      wrap(integer(1), algorithm([]), encapsulated, signers, integer(1)),
      wrap(integer(1), algorithm([]), encapsulated, signers, tlv(0xa2, integer(1))),
      wrap(integer(1), algorithm([]), encapsulated, integer(1), signers),
      wrap(integer(1), algorithm([]), encapsulated, sequence(makeSigner(content, us))),
      wrap(integer(1), sequence(sequence(oid(OID.sha256))), encapsulated, signers),
    ]) {
      expect(await verdict(message)).toMatch(/not well-formed/);
    }
    const info = sequence(oid(OID.signedData), tlv(0xa0, sequence()), integer(1));
    expect(await verdict(info)).toMatch(/not well-formed/);
  });

  it("another CMS type, and a certificate in place of a message", async () => {
    expect(await verdict(sequence(oid(OID.data), tlv(0xa0, octets(content))))).toMatch(/not well-formed/);
    expect(await verdict(ourCertificate.der)).toMatch(/not well-formed/);
  });

  it("an oversized text", async () => {
    expect((await verifyPkcs7("A".repeat(100_000), registered, { allowSha1: false })).ok).toBe(false);
  });

  it("a PEM wrapper", async () => {
    const text = `-----BEGIN PKCS7-----\n${Buffer.from(signedBy({})).toString("base64")}\n-----END PKCS7-----`;
    expect((await verifyPkcs7(text, registered, { allowSha1: false })).ok).toBe(false);
  });
});

describe("a message in indefinite lengths", () => {
  it("is accepted when it is the cloud's form: content in segments, lengths left open", async () => {
    const half = content.length / 2;
    const segments = [octets(content.slice(0, half)), octets(content.slice(half))];
    const signedData = indefinite(
      0x30,
      integer(1),
      set(sequence(oid(OID.sha256))),
      indefinite(0x30, oid(OID.data), indefinite(0xa0, indefinite(0x24, ...segments))),
      set(makeSigner(content, us)),
    );
    expect(await verdict(indefinite(0x30, oid(OID.signedData), indefinite(0xa0, signedData)))).toBe("accepted");
  });
});

describe("a document that was accepted before", () => {
  const verified = (text: string, certificates: readonly RegisteredCertificate[], allowSha1 = false) =>
    verifyPkcs7(text, certificates, { allowSha1 });

  it("is refused once its certificate is not registered any more, or another has its name", async () => {
    const text = Buffer.from(signedBy({})).toString("base64");
    expect((await verified(text, registered)).ok).toBe(true);
    expect((await verified(text, [])).ok).toBe(false);
    expect((await verified(text, [{ type: "pkcs7", pem: toPem(attackerCertificate.der) }])).ok).toBe(false);
    expect((await verified(text, registered)).ok).toBe(true);
  });

  it("is refused once SHA-1 is not allowed any more", async () => {
    const text = Buffer.from(signedBy({ key: second, certificate: sha1Certificate })).toString("base64");
    expect((await verified(text, registered, true)).ok).toBe(true);
    expect((await verified(text, registered)).ok).toBe(false);
  });

  it("is read whatever white space its lines were joined with", async () => {
    const own = new TextEncoder().encode(JSON.stringify(document));
    const text = Buffer.from(makeMessage(own, { signers: [makeSigner(own, us)] })).toString("base64");
    for (const joint of ["\n", "\r\n", " ", "\t", " \n "]) {
      expect((await verified(`${joint}${text.replace(/.{76}/g, `$&${joint}`)}`, registered)).ok).toBe(true);
    }
  });

  it("has its signature computed once, and again for another certificate with its key", async () => {
    const own = new TextEncoder().encode(JSON.stringify({ ...document, instanceId: "i-0000000000000000f" }));
    const text = Buffer.from(makeMessage(own, { signers: [makeSigner(own, us)] })).toString("base64");
    const renewed = makeCertificate("cloud", ours, 1);
    const verify = vi.spyOn(crypto.subtle, "verify");
    for (let login = 0; login < 3; login++) expect((await verified(text, registered)).ok).toBe(true);
    expect(verify).toHaveBeenCalledTimes(1);
    expect((await verified(text, [{ type: "pkcs7", pem: `${toPem(renewed.der)}\n` }])).ok).toBe(true);
    expect(verify).toHaveBeenCalledTimes(2);
    verify.mockRestore();
  });

  it("vouches for no other text: one with a changed signature is refused", async () => {
    const message = signedBy({});
    expect(await verdict(message)).toBe("accepted");
    const changed = Uint8Array.from(message);
    changed[changed.length - 1] = (changed.at(-1) ?? 0) ^ 1;
    expect(await verdict(changed)).not.toBe("accepted");
  });
});
