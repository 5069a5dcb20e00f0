import { err, ok, type Result } from "../../../base/result.ts";
import { isObject } from "../../../wire/fields.ts";
import { fromBase64Text, parseStrictObject } from "../encoding.ts";

/** Headers of a signed request: values by name in lower case. */
export type HeaderValues = ReadonlyMap<string, readonly string[]>;

/** Limits of the headers. The longest values are session tokens, of some 2 kB. */
const MAX_TEXT_LENGTH = 16 * 1024;
const MAX_HEADERS = 32;
const MAX_VALUES = 8;
const MAX_VALUE_LENGTH = 8 * 1024;

export const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$/;
const VALUE = /^[\x20-\x7e\t]*$/;

/**
 * Reads `iam_request_headers`: a JSON object, its JSON text, or base64 of that text. A value is a text, a number or a
 * list of these. A repeated name, in any casing, is refused.
 */
export function readHeaderValues(input: unknown): Result<HeaderValues, string> {
  const object = typeof input === "string" ? parseText(input) : input;
  if (!isObject(object)) {
    return err("iam_request_headers is neither a JSON object nor base64 of one");
  }
  const headers = new Map<string, readonly string[]>();
  for (const [name, value] of Object.entries(object)) {
    const key = name.toLowerCase();
    const values = readValues(value);
    if (!HEADER_NAME.test(name) || values === null) return err("iam_request_headers has a malformed header");
    if (headers.has(key)) return err("iam_request_headers has a header twice");
    headers.set(key, values);
    if (headers.size > MAX_HEADERS) return err("iam_request_headers has too many headers");
  }
  return ok(headers);
}

function parseText(text: string): unknown {
  if (text.length > MAX_TEXT_LENGTH) return null;
  const json = text.trimStart().startsWith("{") ? text : fromBase64Text(text);
  return json === null ? null : parseStrictObject(json);
}

function readValues(value: unknown): readonly string[] | null {
  const list: unknown[] = Array.isArray(value) ? value : [value];
  if (list.length === 0 || list.length > MAX_VALUES) return null;
  const texts = list.map((item) => (typeof item === "number" ? String(item) : item));
  return texts.every(isHeaderValue) ? texts.map((text) => text.trim()) : null;
}

function isHeaderValue(text: unknown): text is string {
  return typeof text === "string" && text.length <= MAX_VALUE_LENGTH && VALUE.test(text);
}

const SERVER_ID_HEADER = "X-Service-Cloud-IAM-Server-ID";
const SERVER_ID_NAMES = [SERVER_ID_HEADER.toLowerCase(), "x-vault-aws-iam-server-id"];

/** The headers of GetCallerIdentity among those named `X-Amz-*`, which control the service. */
const AMZ_HEADERS: ReadonlySet<string> = new Set([
  "x-amz-algorithm",
  "x-amz-content-sha256",
  "x-amz-credential",
  "x-amz-date",
  "x-amz-security-token",
  "x-amz-signature",
  "x-amz-signedheaders",
]);

/** Clients in browsers have this name for `User-Agent`. It controls nothing. */
const USER_AGENT_HEADER = "x-amz-user-agent";

/** Headers that client libraries add and possibly sign. */
const USUAL_HEADERS: ReadonlySet<string> = new Set([
  ...["accept", "accept-encoding", "authorization", "content-type", "date", "user-agent"],
  ...["amz-sdk-invocation-id", "amz-sdk-request", "amz-sdk-retry", USER_AGENT_HEADER],
  ...SERVER_ID_NAMES,
]);

/** Headers that the HTTP client sets itself. The signed values are compared, and never sent. */
const FRAMING_HEADERS: ReadonlySet<string> = new Set(["host", "content-length"]);

/** Headers that are also sent without being signed: the signature itself and the type of the body. */
const NEEDED_HEADERS: ReadonlySet<string> = new Set(["authorization", "content-type"]);

/**
 * Checks the protection against a replay between servers: a server ID header, with either name, must have the
 * configured value and be signed. Returns the problem without that value, or null. Messages are the reference's
 * (login).
 */
export function serverIdProblem(
  headers: HeaderValues,
  signedHeaders: ReadonlySet<string>,
  required: string,
): string | null {
  if (required === "") return null;
  const present = SERVER_ID_NAMES.filter((name) => headers.has(name));
  const problem = (cause: string) => `error validating ${SERVER_ID_HEADER} header: ${cause}`;
  if (present.length === 0) return problem(`missing header "${SERVER_ID_HEADER}"`);
  if (present.some((name) => headers.get(name)?.join(",") !== required)) {
    return problem("its value is not the one that this server expects");
  }
  if (present.some((name) => !signedHeaders.has(name))) return problem("header wasn't signed");
  return null;
}

/**
 * Selects the headers to send. A header that controls the service is refused unless it is listed. A signed header
 * must be sent, so it is refused unless it is usual or allowed by the operator. All other headers are dropped: a
 * client should control as little as possible of the request to STS.
 */
export function selectHeaders(
  headers: HeaderValues,
  signedHeaders: ReadonlySet<string>,
  allowedByOperator: readonly string[],
): Result<Record<string, string>, string> {
  const allowed = namesAllowed(allowedByOperator);
  const selected: Record<string, string> = {};
  for (const [name, values] of headers) {
    if (FRAMING_HEADERS.has(name)) continue;
    const listed = allowed.has(name) || AMZ_HEADERS.has(name);
    if (!listed && !USUAL_HEADERS.has(name) && name.startsWith("x-amz-")) return err(INVALID_HEADER);
    if (!listed && signedHeaders.has(name) && !USUAL_HEADERS.has(name)) return err(INVALID_HEADER);
    if (listed || signedHeaders.has(name) || NEEDED_HEADERS.has(name)) selected[name] = values.join(",");
  }
  return ok(selected);
}

/** True for a parameter that a pre-signed request may have because a header of that name is accepted. */
export function isAcceptedParameter(name: string, allowedByOperator: readonly string[]): boolean {
  const key = name.toLowerCase();
  if (!key.startsWith("x-amz-") || AMZ_HEADERS.has(key)) return false;
  return key === USER_AGENT_HEADER || namesAllowed(allowedByOperator).has(key);
}

function namesAllowed(allowedByOperator: readonly string[]): ReadonlySet<string> {
  return new Set(allowedByOperator.map((name) => name.trim().toLowerCase()));
}

const INVALID_HEADER =
  "invalid request header: only those of a GetCallerIdentity request and of allowed_sts_header_values are accepted";
