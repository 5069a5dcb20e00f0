import { err, ok, type Result } from "../../../base/result.ts";

/** What a Signature Version 4 says it covers. Whether it is genuine, only STS can tell. */
export type SignatureScope = {
  /** Region of the credential scope. */
  readonly region: string;
  /** Names in lower case. */
  readonly signedHeaders: ReadonlySet<string>;
};

const ALGORITHM = "AWS4-HMAC-SHA256";
const AUTHORIZATION = /^AWS4-HMAC-SHA256 Credential=([^\s,]+), ?SignedHeaders=([^\s,]+), ?Signature=([0-9a-f]{64})$/;
const CREDENTIAL = /^\w{1,128}\/\d{8}\/([a-z0-9-]{1,32})\/sts\/aws4_request$/;
const SIGNED_HEADERS = /^[a-z0-9_-]+(;[a-z0-9_-]+)*$/;

/** Reads an Authorization header. Each item stands once and in the usual order: a second reading is not possible. */
export function parseAuthorization(header: string): Result<SignatureScope, string> {
  const [, credential, signedHeaders] = AUTHORIZATION.exec(header) ?? [];
  if (credential === undefined || signedHeaders === undefined) {
    return err(`Authorization header is not a signature of the form ${ALGORITHM}`);
  }
  return readScope(credential, signedHeaders);
}

/** Reads the signature of a pre-signed URL from its query. */
export function parsePresigned(query: ReadonlyMap<string, string>): Result<SignatureScope, string> {
  if (query.get("X-Amz-Algorithm") !== ALGORITHM) return err(`pre-signed URL is not signed with ${ALGORITHM}`);
  const credential = query.get("X-Amz-Credential");
  const signedHeaders = query.get("X-Amz-SignedHeaders");
  const date = query.get("X-Amz-Date") ?? "";
  const signature = query.get("X-Amz-Signature") ?? "";
  const expires = query.get("X-Amz-Expires") ?? "0";
  const complete = /^\d{8}T\d{6}Z$/.test(date) && /^[0-9a-f]{64}$/.test(signature) && /^\d{1,6}$/.test(expires);
  if (credential === undefined || signedHeaders === undefined || !complete) {
    return err("pre-signed URL lacks a part of its signature");
  }
  return readScope(credential, signedHeaders);
}

function readScope(credential: string, signedHeaders: string): Result<SignatureScope, string> {
  const [, region] = CREDENTIAL.exec(credential) ?? [];
  if (region === undefined) return err("region missing from the signature, or the signature is not one for sts");
  if (!SIGNED_HEADERS.test(signedHeaders)) return err("list of signed headers is malformed");
  const names = signedHeaders.split(";");
  const unique = new Set(names);
  if (unique.size !== names.length) return err("list of signed headers names a header twice");
  if (!unique.has("host")) return err("Host header is not signed");
  return ok({ region, signedHeaders: unique });
}
