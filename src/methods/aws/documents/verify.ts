import { GenerationalCache } from "../../../base/generational-cache.ts";
import { ok, type Result, refuse } from "../../../base/result.ts";
import { equalBytes } from "../../../crypto/bytes.ts";
import { fromWrappedBase64 } from "../encoding.ts";
import { MAX_BER_BYTES } from "./ber.ts";
import type { Certificate, Digest, PublicKey } from "./certificate.ts";
import { readSignedMessage, type SignedMessage, type Signer } from "./cms.ts";
import { verifyDsa } from "./dsa.ts";
import { type IdentityDocument, MAX_DOCUMENT_BYTES, parseIdentityDocument } from "./identity-document.ts";
import { type RegisteredCertificate, trustedCertificates } from "./trusted.ts";

type RsaKey = Extract<PublicKey, { type: "RSA" }>;

const ALGORITHM = "RSASSA-PKCS1-v1_5";

/** Keys that were imported, one for each digest. */
const imported: Readonly<Record<Digest, WeakMap<RsaKey, CryptoKey>>> = {
  "SHA-1": new WeakMap(),
  "SHA-256": new WeakMap(),
};

async function importedKey(key: RsaKey, hash: Digest): Promise<CryptoKey> {
  const known = imported[hash].get(key);
  if (known) return known;
  const publicKey = await crypto.subtle.importKey("spki", key.spki, { name: ALGORITHM, hash }, false, ["verify"]);
  imported[hash].set(key, publicKey);
  return publicKey;
}

/** Whether `signature` over `message` verifies with the certificate's key: RSA PKCS#1 v1.5, or DSA. */
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
    const publicKey = await importedKey(key, digest);
    return await crypto.subtle.verify(ALGORITHM, publicKey, signature, message);
  } catch {
    return false;
  }
}

/** The installation setting that brings back SHA-1, which has been open to forgery since 2017. */
const ALLOW_SHA1_SETTING = "ALLOW_SHA1_SIGNATURES";

/**
 * The refusal of a signature that the installation does not allow: made with SHA-1 or with DSA (whose published keys
 * are all of 1024 bits), or checked with a certificate that is itself signed with SHA-1. Null when allowed.
 */
function sha1Refusal(certificate: Certificate, digest: Digest, allowSha1: boolean): string | null {
  if (allowSha1) return null;
  const advice = `use the document of the rsa2048 endpoint in pkcs7, or set ${ALLOW_SHA1_SETTING}`;
  if (digest === "SHA-1") return `signatures with SHA-1 are refused; ${advice}`;
  if (certificate.key.type === "DSA") return `signatures with DSA are refused; ${advice}`;
  if (!certificate.signedWithSha2) return `certificates signed with SHA-1 are refused; ${advice}`;
  return null;
}

type VerifyOptions = {
  /** The installation's ALLOW_SHA1_SIGNATURES. */
  readonly allowSha1: boolean;
};

/** Base64 of what the decoders accept at most, with line breaks. */
const MAX_PKCS7_LENGTH = base64Length(MAX_BER_BYTES);
const MAX_IDENTITY_LENGTH = base64Length(MAX_DOCUMENT_BYTES);
/** Of an RSA key of 4096 bits, twice what the cloud's longest has. */
const MAX_SIGNATURE_LENGTH = base64Length(512);

/** Characters of the messages in one generation below: a few hundred of the cloud's. */
const MAX_CACHED_CHARACTERS = 2 ** 20;

/** A message and the document in it, read. */
interface ReadMessage extends SignedMessage {
  readonly document: IdentityDocument;
}

/**
 * Messages whose signers have verified once, read, by their base64. A machine logs in with the same document again and again.
 * Reading it is most of a login; what it says depends on the text alone. Which certificates count is asked every time.
 */
const messages = new GenerationalCache<string, ReadMessage>(MAX_CACHED_CHARACTERS);

/** The certificate with which the signature of a signer was found good. Neither ever changes. */
const verifiedWith = new WeakMap<Signer, Certificate>();

/**
 * Verifies the `pkcs7` value of a login: base64 of CMS signed data whose content is the identity document. Every signer
 * must verify with a certificate that was published for the document's region or registered; a certificate inside the
 * message counts for nothing. Messages are those of the reference's AWS method (login).
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
  // Only verified messages: forged ones must not evict the documents of machines.
  if (!known) messages.set(pkcs7, message.value, pkcs7.length);
  return ok(document);
}

function readMessage(pkcs7: string): Result<ReadMessage> {
  const bytes = pkcs7.length > MAX_PKCS7_LENGTH ? null : fromWrappedBase64(pkcs7);
  if (bytes === null) return refuse("failed to base64 decode the PKCS#7 signature");
  const message = readSignedMessage(bytes);
  if (!message.ok) return refuse(`failed to parse the PKCS#7 signature: ${message.error}`);
  const document = parseIdentityDocument(message.value.content);
  return document.ok ? ok({ ...message.value, document: document.value }) : document;
}

/**
 * Verifies the `identity` and `signature` values of a login: base64 of the document and of an RSA signature with
 * SHA-256 over its exact bytes. Messages are those of the reference's AWS method (login).
 */
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

/** Characters of the base64 of `bytes` bytes, in lines of 64 characters that each end in a line break of two. */
function base64Length(bytes: number): number {
  const characters = 4 * Math.ceil(bytes / 3);
  return characters + 2 * Math.ceil(characters / 64);
}

/** @returns why the signer does not verify, or null when it does */
async function verifySigner(
  signer: Signer,
  content: Uint8Array<ArrayBuffer>,
  certificates: readonly Certificate[],
  options: VerifyOptions,
): Promise<string | null> {
  const certificate = certificates.find((candidate) => isCertificateOf(candidate, signer));
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

/** The key type is compared too: an RSA signature is never offered to a DSA key. */
function isCertificateOf(certificate: Certificate, signer: Signer): boolean {
  return (
    certificate.key.type === signer.keyType &&
    equalBytes(certificate.serialNumber, signer.serialNumber) &&
    equalBytes(certificate.issuer, signer.issuer)
  );
}
