import type { InstanceDocument } from "../../../auth/leaked-text.ts";
import { type Ms, parseRfc3339 } from "../../../base/clock.ts";
import { GenerationalCache } from "../../../base/generational-cache.ts";
import { ok, type Result, refuse } from "../../../base/result.ts";
import { equalBytes, fromUtf8 } from "../../../crypto/bytes.ts";
import { fieldSchema, readValues, type Values } from "../../../wire/field-schema.ts";
import type { Field } from "../../../wire/fields.ts";
import { exactString } from "../../../wire/json-type-fields.ts";
import { ACCOUNT_ID } from "../arn.ts";
import { foldCase, fromWrappedBase64, parseStrictObject } from "../encoding.ts";
import { MAX_BER_BYTES } from "./ber.ts";
import { type Certificate, type Digest, type RegisteredCertificate, trustedCertificates } from "./certificate.ts";
import { type CmsSigner, isIssuedAs, readSignedMessage, type SignedMessage } from "./cms.ts";
import { verifyDsa } from "./dsa.ts";

/** Maximum size of a document, which has some 500 bytes. */
export const MAX_DOCUMENT_BYTES = 4 * 1024;

export const INSTANCE_ID = /^i-[0-9a-z]{1,32}$/;

const FIELDS = fieldSchema({
  accountId: matching(ACCOUNT_ID),
  instanceId: matching(INSTANCE_ID),
  imageId: matching(/^ami-[0-9a-z]{1,32}$/),
  region: matching(/^[a-z]{2,4}(-[a-z]{2,16}){1,3}-\d{1,2}$/),
  /** Time of the last start of the instance (RFC 3339). */
  pendingTime: matching(/^/),
});

export type IdentityDocument = Values<typeof FIELDS> & { readonly pendingTimeMs: Ms };

const FIELD_BY_FOLDED_NAME: ReadonlyMap<string, string> = new Map(
  Object.keys(FIELDS.shape).map((name) => [foldCase(name), name]),
);

/**
 * Reads an instance identity document: a JSON object in UTF-8 with the fields above. A name that is repeated, or that
 * differs from a field only in case, is refused: another parser could read it as the field. Other fields are ignored.
 */
export function parseIdentityDocument(bytes: Uint8Array): Result<IdentityDocument> {
  if (bytes.length > MAX_DOCUMENT_BYTES) return refuse("instance identity document is too large");
  const text = fromUtf8(bytes);
  const object = text === null ? null : parseStrictObject(text);
  if (object === null) return refuse("instance identity document is not a JSON object with unique names");
  const isRecased = Object.keys(object).some((name) => (FIELD_BY_FOLDED_NAME.get(foldCase(name)) ?? name) !== name);
  if (isRecased) return refuse("instance identity document has a field in another casing");

  const fields = readValues(FIELDS, object);
  if (!fields.ok) return refuse(`instance identity document has no valid ${fields.error.name}`);
  const pendingTimeMs = parseRfc3339(fields.value.pendingTime);
  if (pendingTimeMs === null) return refuse("instance identity document has no valid pendingTime");
  return ok({ ...fields.value, pendingTimeMs });
}

function matching(pattern: RegExp): Field<string> {
  return exactString("is missing", (value) => (pattern.test(value) ? null : "is invalid"));
}

const ALGORITHM = "RSASSA-PKCS1-v1_5";

const imported = { "SHA-1": new WeakMap<Certificate, CryptoKey>(), "SHA-256": new WeakMap<Certificate, CryptoKey>() };

async function importedKey(certificate: Certificate, spki: Uint8Array<ArrayBuffer>, hash: Digest): Promise<CryptoKey> {
  const known = imported[hash].get(certificate);
  if (known) return known;
  const key = await crypto.subtle.importKey("spki", spki, { name: ALGORITHM, hash }, false, ["verify"]);
  imported[hash].set(certificate, key);
  return key;
}

async function verifySignature(
  certificate: Certificate,
  digest: Digest,
  message: Uint8Array<ArrayBuffer>,
  signature: Uint8Array<ArrayBuffer>,
): Promise<boolean> {
  const { key } = certificate;
  if (key.type === "DSA") {
    return verifyDsa(key.dsa, new Uint8Array(await crypto.subtle.digest(digest, message)), signature);
  }
  try {
    return await crypto.subtle.verify(ALGORITHM, await importedKey(certificate, key.spki, digest), signature, message);
  } catch {
    return false;
  }
}

/**
 * Why the installation does not allow a signature, or null: it uses SHA-1 (forged since 2017) or DSA (all published
 * keys have 1024 bits), or its certificate is signed with SHA-1.
 */
function sha1Refusal(certificate: Certificate, digest: Digest, allowSha1: boolean): string | null {
  if (allowSha1) return null;
  const advice = `use the document of the rsa2048 endpoint in pkcs7, or set ALLOW_SHA1_SIGNATURES`;
  if (digest === "SHA-1") return `signatures with SHA-1 are refused; ${advice}`;
  if (certificate.key.type === "DSA") return `signatures with DSA are refused; ${advice}`;
  if (!certificate.signedWithSha2) return `certificates signed with SHA-1 are refused; ${advice}`;
  return null;
}

/** The installation's ALLOW_SHA1_SIGNATURES. */
type VerifyOptions = { readonly allowSha1: boolean };

const MAX_PKCS7_LENGTH = base64Length(MAX_BER_BYTES);
const MAX_IDENTITY_LENGTH = base64Length(MAX_DOCUMENT_BYTES);
/** A signature by an RSA key of 4096 bits. The cloud's longest key has half of that. */
const MAX_SIGNATURE_LENGTH = base64Length(512);

/** Maximum characters of the cached messages in one generation: some hundred messages. */
const MAX_CACHED_CHARACTERS = 2 ** 20;

type ReadMessage = SignedMessage & { readonly document: IdentityDocument };

/**
 * Parsed messages whose signers were verified once, by their base64. An instance logs in with the same document
 * again, and parsing it is most of a login. The trusted certificates are determined at every login.
 */
const messages = new GenerationalCache<string, ReadMessage>(MAX_CACHED_CHARACTERS);

/** The certificate that verified the signature of a signer. Neither of them changes. */
const verifiedWith = new WeakMap<CmsSigner, Certificate>();

/**
 * Verifies the `pkcs7` value of a login: base64 of CMS signed data with the identity document as content. A published
 * certificate of the document's region, or a registered one, must verify each signer. Certificates in the message are
 * ignored. Messages are those of the reference's AWS method (login).
 */
export async function verifyPkcs7(
  pkcs7: string,
  registered: readonly RegisteredCertificate[],
  options: VerifyOptions,
): Promise<Result<IdentityDocument>> {
  const known = messages.get(pkcs7);
  const message = known ? ok(known) : readMessage(pkcs7);
  if (!message.ok) return message;
  const { content, signers, document } = message.value;
  const certificates = trustedCertificates("pkcs7", document.region, registered);
  for (const signer of signers) {
    const problem = await verifySigner(signer, content, certificates, options);
    if (problem !== null) return refuse(`failed to verify the signature: ${problem}`);
  }
  // Only verified messages are cached, so that forged ones can't evict them.
  if (!known) messages.set(pkcs7, message.value, pkcs7.length);
  return ok(document);
}

/** Reads what an instance may log in with and that may have leaked, without verifying it; null for another text. */
export function instanceDocument(text: string): InstanceDocument | null {
  const message = readMessage(text);
  if (message.ok) return { ...factsOf(message.value.document), isSigned: true };
  const bytes = text.length > MAX_IDENTITY_LENGTH ? null : fromWrappedBase64(text);
  const document = parseIdentityDocument(bytes?.length ? bytes : new TextEncoder().encode(text));
  return document.ok ? { ...factsOf(document.value), isSigned: false } : null;
}

const factsOf = ({ instanceId, accountId, region }: IdentityDocument) =>
  ({ kind: "identity-document", instance: instanceId, account: accountId, region }) as const;

function readMessage(pkcs7: string): Result<ReadMessage> {
  const bytes = pkcs7.length > MAX_PKCS7_LENGTH ? null : fromWrappedBase64(pkcs7);
  if (bytes === null) return refuse("failed to base64 decode the PKCS#7 signature");
  const message = readSignedMessage(bytes);
  if (!message.ok) return refuse(`failed to parse the PKCS#7 signature: ${message.error}`);
  const document = parseIdentityDocument(message.value.content);
  return document.ok ? ok({ ...message.value, document: document.value }) : document;
}

/** Verifies base64 of a document, and of its RSA signature with SHA-256. Messages are the reference's (login). */
export async function verifyIdentity(
  identity: string,
  signature: string,
  registered: readonly RegisteredCertificate[],
  options: VerifyOptions,
): Promise<Result<IdentityDocument>> {
  const content = identity.length > MAX_IDENTITY_LENGTH ? null : fromWrappedBase64(identity);
  if (!content?.length) return refuse("failed to base64 decode the instance identity document");
  const value = signature.length > MAX_SIGNATURE_LENGTH ? null : fromWrappedBase64(signature);
  if (!value?.length) {
    return refuse("failed to base64 decode the SHA256 RSA signature of the instance identity document");
  }
  const document = parseIdentityDocument(content);
  if (!document.ok) return document;

  const certificates = trustedCertificates("identity", document.value.region, registered);
  for (const certificate of certificates) {
    if (certificate.key.type !== "RSA") continue;
    if (!(await verifySignature(certificate, "SHA-256", content, value))) continue;
    const problem = sha1Refusal(certificate, "SHA-256", options.allowSha1);
    return problem === null ? ok(document.value) : refuse(`failed to verify the signature: ${problem}`);
  }
  return refuse("instance identity verification using SHA256 RSA signature is unsuccessful");
}

/** Length of `bytes` in base64, in lines of 64 characters with CRLF. */
function base64Length(bytes: number): number {
  const characters = 4 * Math.ceil(bytes / 3);
  return characters + 2 * Math.ceil(characters / 64);
}

/** Returns the problem, or null. */
async function verifySigner(
  signer: CmsSigner,
  content: Uint8Array<ArrayBuffer>,
  certificates: readonly Certificate[],
  options: VerifyOptions,
): Promise<string | null> {
  const certificate = certificates.find((one) => one.key.type === signer.keyType && isIssuedAs(one, signer));
  if (certificate === undefined) return "no certificate for signer in the region of the document";
  const refusal = sha1Refusal(certificate, signer.digest, options.allowSha1);
  if (refusal !== null) return refusal;
  if (verifiedWith.get(signer) === certificate) return null;

  const { attributes } = signer;
  if (attributes !== undefined) {
    const digest = new Uint8Array(await crypto.subtle.digest(signer.digest, content));
    if (!equalBytes(digest, attributes.messageDigest)) return "message digest mismatch";
    const time = attributes.signingTime;
    if (time !== undefined && (time < certificate.notBefore || time > certificate.notAfter)) {
      return "signing time is outside the validity of the certificate";
    }
  }
  const signed = attributes?.encoded ?? content;
  if (!(await verifySignature(certificate, signer.digest, signed, signer.signature))) return "signature mismatch";
  verifiedWith.set(signer, certificate);
  return null;
}
