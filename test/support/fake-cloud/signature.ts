import { createHash, createHmac } from "node:crypto";
import type { CloudRequest } from "./request.ts";

/** What a verified signature says. */
export interface Signed {
  readonly accessKeyId: string;
  readonly service: string;
  readonly region: string;
  readonly securityToken: string | null;
}

/** Where a signature stands: in the Authorization header, or in the query. */
interface Claim {
  readonly credential: string;
  readonly signedHeaders: string;
  readonly signature: string;
  readonly date: string;
  readonly token: string | null;
  readonly query: string;
  readonly expiresSeconds: number;
}

/** How far a signature's date may be off: what the cloud allows. */
const SKEW_MS = 15 * 60_000;

/**
 * Verifies Signature Version 4 from its description, by code of its own: were the client's library used here too, both
 * could share a mistake.
 *
 * @param secretOf the secret of an access key, null for one that is unknown.
 * @param host the host that the request was signed for; a proxy in front of the real service would restore it.
 * @returns what is signed, or the error code of the cloud.
 */
export function verifySignature(
  request: CloudRequest,
  secretOf: (accessKeyId: string) => string | null,
  host: string,
  now: number,
): Signed | string {
  const claim = readClaim(request);
  if (typeof claim === "string") return claim;
  const [accessKeyId = "", day = "", region = "", service = "", end] = claim.credential.split("/");
  const names = claim.signedHeaders.split(";");
  if (end !== "aws4_request" || !claim.date.startsWith(day)) return "IncompleteSignature";
  const at = Date.parse(claim.date.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, "$1-$2-$3T$4:$5:$6Z"));
  if (!(Math.abs(now - at) <= Math.max(SKEW_MS, claim.expiresSeconds * 1000))) return "SignatureDoesNotMatch";
  if (!names.includes("host") || [...names].sort().join() !== names.join()) return "IncompleteSignature";
  const secret = secretOf(accessKeyId);
  if (secret === null) return "InvalidClientTokenId";
  const unsigned = Object.keys(request.headers).filter((name) => name.startsWith("x-amz-") && !names.includes(name));
  if (unsigned.length > 0) return "SignatureDoesNotMatch";

  const headers: Record<string, string> = { ...request.headers, host };
  const canonical = [
    request.method,
    "/",
    claim.query,
    ...names.map((name) => `${name}:${(headers[name] ?? "").trim().replace(/ +/g, " ")}`),
    "",
    claim.signedHeaders,
    sha256(request.body),
  ].join("\n");
  const scope = `${day}/${region}/${service}/aws4_request`;
  const toSign = ["AWS4-HMAC-SHA256", claim.date, scope, sha256(canonical)].join("\n");
  const key = [day, region, service, "aws4_request"].reduce<string | Buffer>(hmac, `AWS4${secret}`);
  if (hmac(key, toSign).toString("hex") !== claim.signature) return "SignatureDoesNotMatch";
  return { accessKeyId, service, region, securityToken: claim.token };
}

function readClaim(request: CloudRequest): Claim | string {
  const query = request.target.split("?")[1] ?? "";
  const authorization = request.headers.authorization;
  if (authorization !== undefined) {
    const [, credential = "", signedHeaders = "", signature = ""] =
      /^AWS4-HMAC-SHA256 Credential=([^,\s]+), ?SignedHeaders=([^,\s]+), ?Signature=([0-9a-f]{64})$/.exec(
        authorization,
      ) ?? [];
    if (credential === "") return "IncompleteSignature";
    const token = request.headers["x-amz-security-token"] ?? null;
    const date = request.headers["x-amz-date"] ?? "";
    return { credential, signedHeaders, signature, date, token, query: canonicalQuery(query), expiresSeconds: 0 };
  }
  const pairs = new URLSearchParams(query);
  const signature = pairs.get("X-Amz-Signature");
  if (signature === null) return "MissingAuthenticationToken";
  pairs.delete("X-Amz-Signature");
  return {
    credential: pairs.get("X-Amz-Credential") ?? "",
    signedHeaders: pairs.get("X-Amz-SignedHeaders") ?? "",
    signature,
    date: pairs.get("X-Amz-Date") ?? "",
    token: pairs.get("X-Amz-Security-Token"),
    query: canonicalQuery(pairs.toString()),
    expiresSeconds: Number(pairs.get("X-Amz-Expires") ?? "0"),
  };
}

function canonicalQuery(query: string): string {
  return [...new URLSearchParams(query)]
    .map(([name, value]) => `${encode(name)}=${encode(value)}`)
    .sort()
    .join("&");
}

function encode(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac("sha256", key).update(text).digest();
}
