import { err, ok, type Result } from "../../../base/result.ts";

/** The statements of a Signature Version 4. Only STS can verify it. */
export type SignatureScope = {
  /** Region of the credential scope. */
  readonly region: string;
  /** Names in lower case. */
  readonly signedHeaders: ReadonlySet<string>;
  /** 64 hex digits. */
  readonly signature: string;
};

const ALGORITHM = "AWS4-HMAC-SHA256";
const AUTHORIZATION = /^AWS4-HMAC-SHA256 Credential=([^\s,]+), ?SignedHeaders=([^\s,]+), ?Signature=([0-9a-f]{64})$/;
const CREDENTIAL = /^\w{1,128}\/\d{8}\/([a-z0-9-]{1,32})\/sts\/aws4_request$/;
const SIGNED_HEADERS = /^[a-z0-9_-]+(;[a-z0-9_-]+)*$/;

/** Maximum age of a signed request in seconds: the difference of clocks that STS allows. */
const MAX_AGE_SECONDS = 15 * 60;

/**
 * Why a request with this `X-Amz-Date` is too old at `now` (ms), or from the future; or null. The signature covers the
 * date, and STS checks it too.
 */
export function ageProblem(amzDate: string, now: number): string | null {
  const signedAt = signedAtOf(amzDate);
  if (Number.isNaN(signedAt)) return "X-Amz-Date is missing or malformed";
  const isFar = Math.abs(now - signedAt) > MAX_AGE_SECONDS * 1000;
  return isFar ? "X-Amz-Date is more than 15 minutes away: sign the request again" : null;
}

/** When a request with this `X-Amz-Date` becomes too old, in ms; NaN for a malformed date. */
export function endOfSignature(amzDate: string): number {
  return signedAtOf(amzDate) + MAX_AGE_SECONDS * 1000 + 1;
}

function signedAtOf(amzDate: string): number {
  const iso = amzDate.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, "$1-$2-$3T$4:$5:$6Z");
  return iso === amzDate ? Number.NaN : Date.parse(iso);
}

/** Reads an Authorization header. Each item must occur once and in the usual order, so that all parsers agree. */
export function parseAuthorization(header: string): Result<SignatureScope, string> {
  const [, credential, signedHeaders, signature] = AUTHORIZATION.exec(header) ?? [];
  if (credential === undefined || signedHeaders === undefined || signature === undefined) {
    return err(`Authorization header is not a signature of the form ${ALGORITHM}`);
  }
  return readScope(credential, signedHeaders, signature);
}

/** Reads the signature in the query of a pre-signed URL. */
export function parsePresigned(query: ReadonlyMap<string, string>): Result<SignatureScope, string> {
  if (query.get("X-Amz-Algorithm") !== ALGORITHM) return err(`pre-signed URL is not signed with ${ALGORITHM}`);
  const credential = query.get("X-Amz-Credential");
  const signedHeaders = query.get("X-Amz-SignedHeaders");
  const signature = query.get("X-Amz-Signature") ?? "";
  const expires = query.get("X-Amz-Expires") ?? "0";
  const complete = /^[0-9a-f]{64}$/.test(signature) && /^\d{1,6}$/.test(expires);
  if (credential === undefined || signedHeaders === undefined || !complete) {
    return err("pre-signed URL lacks a part of its signature");
  }
  if (Number(expires) > MAX_AGE_SECONDS) return err("X-Amz-Expires of the pre-signed URL is more than 15 minutes");
  return readScope(credential, signedHeaders, signature);
}

function readScope(credential: string, signedHeaders: string, signature: string): Result<SignatureScope, string> {
  const [, region] = CREDENTIAL.exec(credential) ?? [];
  if (region === undefined) return err("region missing from the signature, or the signature is not one for sts");
  if (!SIGNED_HEADERS.test(signedHeaders)) return err("list of signed headers is malformed");
  const names = signedHeaders.split(";");
  const unique = new Set(names);
  if (unique.size !== names.length) return err("list of signed headers names a header twice");
  if (!unique.has("host")) return err("Host header is not signed");
  return ok({ region, signedHeaders: unique, signature });
}
