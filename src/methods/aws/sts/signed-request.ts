import type { Ms } from "../../../base/clock.ts";
import { err, ok, type Result, refuse } from "../../../base/result.ts";
import type { Values } from "../../../wire/field-schema.ts";
import { pasted, sent, text, unread } from "../../../wire/fields.ts";
import { fromBase64Text } from "../encoding.ts";
import type { Partition } from "../regions.ts";
import { type HeaderValues, isAcceptedParameter, readHeaderValues, selectHeaders, serverIdProblem } from "./headers.ts";
import { chooseTarget, parseOrigin, type StsOrigin, type StsSettings } from "./origin.ts";

/** The fields of a login that have the signed request. The body is absent or empty with GET. */
export const SIGNED_REQUEST_FIELDS = {
  iam_http_request_method: sent(text()).describe("The method of the signed request: POST or GET"),
  iam_request_url: sent(pasted()).describe("Its URL, as base64"),
  iam_request_body: sent(pasted()).describe("Its body, as base64"),
  iam_request_headers: unread("any").describe("Its headers, as base64 of JSON, or as JSON"),
};

export type SignedRequestFields = Partial<Values<typeof SIGNED_REQUEST_FIELDS>>;

/** The request to send to STS. */
export type CallerIdentityRequest = {
  readonly method: "POST" | "GET";
  readonly url: string;
  /** Names in lower case. Never `host` or `content-length`. */
  readonly headers: Readonly<Record<string, string>>;
  /** ASCII; null for GET. */
  readonly body: string | null;
  /** The partition of the signature's region. An answer about another one is refused. */
  readonly partition: Partition;
  /** 64 hex digits. */
  readonly signature: string;
  readonly endsAt: Ms;
};

/** Maximum length of the URL in base64. A pre-signed one has some 6 kB with a session token of 4 kB. */
const MAX_URL_LENGTH = 16 * 1024;
/** Maximum length of the body in base64. It has two short parameters. */
const MAX_BODY_LENGTH = 1024;

const ACTION = "GetCallerIdentity";
const API_VERSION = "2011-06-15";

const FORM_TYPE = "application/x-www-form-urlencoded; charset=utf-8";
const FORM_TYPE_PATTERN = /^application\/x-www-form-urlencoded(; ?charset=utf-8)?$/i;

const FORM_KEYS: ReadonlySet<string> = new Set(["Action", "Version"]);
const PRESIGNED_KEYS: ReadonlySet<string> = new Set([
  ...["Action", "Version", "X-Amz-Algorithm", "X-Amz-Content-Sha256", "X-Amz-Credential", "X-Amz-Date"],
  ...["X-Amz-Expires", "X-Amz-Security-Token", "X-Amz-Signature", "X-Amz-SignedHeaders"],
]);

/**
 * Checks a signed GetCallerIdentity request and builds the request to send. It is built from the checked parts only: a
 * client that could make STS run another action, or choose the host that answers, could take any identity.
 * Messages are those of the reference's AWS method (login).
 */
export function checkSignedRequest(
  fields: SignedRequestFields,
  settings: StsSettings,
  now: Ms,
): Result<CallerIdentityRequest> {
  const {
    iam_http_request_method: method = "",
    iam_request_url: sentUrl = "",
    iam_request_body: sentBody = "",
  } = fields;
  if (method === "") return refuse("missing iam_http_request_method");
  if (method !== "POST" && method !== "GET") {
    return refuse("invalid iam_http_request_method; only 'POST' and 'GET' are supported");
  }
  const url = readUrl(sentUrl);
  if (!url.ok) return refuse(url.error);
  const headers = readHeaderValues(fields.iam_request_headers);
  if (!headers.ok) return refuse(headers.error);

  const { query: sentQuery } = url.value;
  const signed =
    method === "POST"
      ? readPost(sentQuery, sentBody, headers.value)
      : readPresignedGet(sentQuery, sentBody, headers.value, settings.allowedStsHeaderValues);
  if (!signed.ok) return refuse(signed.error);
  const { scope, query, body } = signed.value;
  const signedAt = signedAtOf(signed.value.amzDate);
  if (Number.isNaN(signedAt)) return refuse("X-Amz-Date is missing or malformed");
  // The signature covers this date, and STS checks it too.
  if (Math.abs(now - signedAt) > MAX_AGE_SECONDS * 1000) {
    return refuse("X-Amz-Date is more than 15 minutes away: sign the request again");
  }

  const framing = framingProblem(headers.value, url.value.origin, body ?? "");
  if (framing !== null) return refuse(framing);
  const serverId = serverIdProblem(headers.value, scope.signedHeaders, settings.iamServerIdHeaderValue);
  if (serverId !== null) return refuse(serverId);
  const selected = selectHeaders(headers.value, scope.signedHeaders, settings.allowedStsHeaderValues);
  if (!selected.ok) return refuse(selected.error);
  if (body !== null) selected.value["content-type"] ??= FORM_TYPE;

  const target = chooseTarget(url.value.origin, scope.region, settings);
  if (!target.ok) return refuse(target.error);
  const { endpoint, partition } = target.value;
  return ok({
    method,
    url: `${endpoint.scheme}://${endpoint.authority}${endpoint.path}/${query}`,
    headers: selected.value,
    body,
    partition,
    signature: scope.signature,
    endsAt: signedAt + MAX_AGE_SECONDS * 1000 + 1,
  });
}

type SignedPart = {
  readonly scope: SignatureScope;
  readonly amzDate: string;
  readonly query: string;
  readonly body: string | null;
};

function readPost(query: string, bodyText: string, headers: HeaderValues): Result<SignedPart, string> {
  if (query !== "") return err("invalid request");
  if (bodyText === "") return err("missing iam_request_body");
  const body = bodyText.length > MAX_BODY_LENGTH ? null : fromBase64Text(bodyText);
  if (body === null) return err("failed to base64 decode iam_request_body");
  if (readPairs(body, (key) => FORM_KEYS.has(key)) === null) return err("iam request body is invalid");
  const type = headers.get("content-type");
  if (type !== undefined && !FORM_TYPE_PATTERN.test(type.join(","))) return err("iam request body is not a form");

  const authorization = headers.get("authorization");
  if (authorization === undefined) return err("missing Authorization header");
  const [header = "", ...more] = authorization;
  if (more.length > 0) return err("more than one Authorization header");
  const scope = parseAuthorization(header);
  const amzDate = headers.get("x-amz-date")?.join(",") ?? "";
  return scope.ok ? ok({ scope: scope.value, amzDate, query: "", body }) : scope;
}

function readPresignedGet(
  query: string,
  bodyText: string,
  headers: HeaderValues,
  allowedByOperator: readonly string[],
): Result<SignedPart, string> {
  if (bodyText !== "") return err("iam_request_body must be empty with GET");
  if (headers.has("authorization")) return err("a pre-signed URL and an Authorization header exclude each other");
  const pairs = readPairs(query, (key) => PRESIGNED_KEYS.has(key) || isAcceptedParameter(key, allowedByOperator));
  if (pairs === null) return err("query of iam_request_url is invalid");
  const scope = parsePresigned(pairs);
  if (!scope.ok) return scope;
  const encoded = [...pairs].map(([key, value]) => `${key}=${encodeStrictly(value)}`);
  const amzDate = pairs.get("X-Amz-Date") ?? "";
  return ok({ scope: scope.value, amzDate, query: `?${encoded.join("&")}`, body: null });
}

/** Splits the URL by a strict pattern. Lenient parsers could differ about its host. */
function readUrl(text: string): Result<{ readonly origin: StsOrigin; readonly query: string }, string> {
  if (text === "") return err("missing iam_request_url");
  const url = text.length > MAX_URL_LENGTH ? null : fromBase64Text(text);
  if (url === null) return err("failed to base64 decode iam_request_url");
  const [, start = "", , query = ""] = /^([a-z]+:\/\/[^/?#]*)(\/?)(?:\?([!-~]*))?$/.exec(url) ?? [];
  const origin = parseOrigin(start);
  if (origin === null || query.includes("#")) return err("error parsing iam_request_url");
  return ok({ origin, query });
}

/**
 * Reads the `key=value` pairs of a query or a form. Null when one is malformed, when a key is repeated (in any case) or
 * not allowed, and when the pairs do not ask for GetCallerIdentity.
 */
function readPairs(text: string, isAllowed: (key: string) => boolean): ReadonlyMap<string, string> | null {
  const pairs = new Map<string, string>();
  const keys = new Set<string>();
  for (const pair of text.split("&")) {
    const [, key, value] = /^([A-Za-z0-9-]+)=([A-Za-z0-9._~/:;=%-]*)$/.exec(pair) ?? [];
    const decoded = value === undefined ? null : decodePercent(value);
    if (key === undefined || decoded === null || keys.has(key.toLowerCase()) || !isAllowed(key)) return null;
    keys.add(key.toLowerCase());
    pairs.set(key, decoded);
  }
  const isCallerIdentity = pairs.get("Action") === ACTION && (pairs.get("Version") ?? API_VERSION) === API_VERSION;
  return isCallerIdentity ? pairs : null;
}

/** The signed host and length must be those of the request. */
function framingProblem(headers: HeaderValues, origin: StsOrigin, body: string): string | null {
  if ((headers.get("host") ?? [origin.authority]).join(",") !== origin.authority) {
    return "Host header is not the host of iam_request_url";
  }
  if ((headers.get("content-length") ?? [`${body.length}`]).join(",") !== `${body.length}`) {
    return "Content-Length header is not the length of iam_request_body";
  }
  return null;
}

function decodePercent(text: string): string | null {
  try {
    const decoded = decodeURIComponent(text);
    return /^[ -~]*$/.test(decoded) ? decoded : null;
  } catch {
    return null;
  }
}

/** Percent-encodes all characters except the unreserved ones of RFC 3986, as signatures do. */
function encodeStrictly(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** The statements of a Signature Version 4. Only STS can verify it. */
type SignatureScope = {
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

/** Maximum age of a signed request: the difference of clocks that STS allows. */
const MAX_AGE_SECONDS = 15 * 60;

/** The time of an `X-Amz-Date`; NaN for a malformed one. */
function signedAtOf(amzDate: string): Ms {
  const iso = amzDate.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, "$1-$2-$3T$4:$5:$6Z");
  return iso === amzDate ? Number.NaN : Date.parse(iso);
}

/** Reads an Authorization header. Each item must occur once and in the usual order, so that all parsers agree. */
function parseAuthorization(header: string): Result<SignatureScope, string> {
  const [, credential, signedHeaders, signature] = AUTHORIZATION.exec(header) ?? [];
  if (credential === undefined || signedHeaders === undefined || signature === undefined) {
    return err(`Authorization header is not a signature of the form ${ALGORITHM}`);
  }
  return readScope(credential, signedHeaders, signature);
}

function parsePresigned(query: ReadonlyMap<string, string>): Result<SignatureScope, string> {
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
