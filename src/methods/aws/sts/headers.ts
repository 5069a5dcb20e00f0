import { err, ok, type Result } from "../../../base/result.ts";
import { fromBase64Text, parseStrictObject } from "../encoding.ts";

/** Headers of a signed request: each name, in lower case, with its values. */
export type HeaderValues = ReadonlyMap<string, readonly string[]>;

/** Bounds of a request that a client signs; session tokens are the long values, some 2 kB each. */
const MAX_TEXT_LENGTH = 16 * 1024;
const MAX_HEADERS = 32;
const MAX_VALUES = 8;
const MAX_VALUE_LENGTH = 8 * 1024;

const NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$/;
const VALUE = /^[\x20-\x7e\t]*$/;

/**
 * Reads `iam_request_headers`: a JSON object, or such an object as JSON text or as base64 of JSON text. A value is a
 * text, a number or a list of these. A header whose name stands twice, in whatever casing, is refused.
 */
export function readHeaderValues(input: unknown): Result<HeaderValues, string> {
  const object = typeof input === "string" ? parseText(input) : input;
  if (typeof object !== "object" || object === null || Array.isArray(object)) {
    return err("iam_request_headers is neither a JSON object nor base64 of one");
  }
  const headers = new Map<string, readonly string[]>();
  for (const [name, value] of Object.entries(object)) {
    const key = name.toLowerCase();
    const values = readValues(value);
    if (!NAME.test(name) || values === null) return err("iam_request_headers has a malformed header");
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
  const values: string[] = [];
  for (const item of list) {
    const text = typeof item === "number" ? String(item) : item;
    if (typeof text !== "string" || text.length > MAX_VALUE_LENGTH || !VALUE.test(text)) return null;
    values.push(text.trim());
  }
  return values;
}

/** The server ID header, by the name of either interface. */
const SERVER_ID_HEADER = "X-Service-Cloud-IAM-Server-ID";
const SERVER_ID_NAMES = [SERVER_ID_HEADER.toLowerCase(), "x-vault-aws-iam-server-id"];

/** Headers named `X-Amz-*` steer the service; these are the ones that GetCallerIdentity needs. */
const AMZ_HEADERS: ReadonlySet<string> = new Set([
  "x-amz-algorithm",
  "x-amz-content-sha256",
  "x-amz-credential",
  "x-amz-date",
  "x-amz-security-token",
  "x-amz-signature",
  "x-amz-signedheaders",
]);

/** Headers that client libraries add and may sign. */
const USUAL_HEADERS: ReadonlySet<string> = new Set([
  ...["accept", "accept-encoding", "authorization", "content-type", "date", "user-agent"],
  ...["amz-sdk-invocation-id", "amz-sdk-request", "amz-sdk-retry"],
  ...SERVER_ID_NAMES,
]);

/** Headers that the HTTP client of the outbound call sets itself. The signed values are compared, never sent. */
const FRAMING_HEADERS: ReadonlySet<string> = new Set(["host", "content-length"]);

/** Headers that are sent even when they are not signed: the signature itself and the type of the body. */
const NEEDED_HEADERS: ReadonlySet<string> = new Set(["authorization", "content-type"]);

/**
 * Checks the guard against replay between servers: a server ID header must be there, under either name, with the
 * configured value and among the signed headers. Messages are those of the reference's AWS method (login).
 * @returns why the check fails, without the configured value; null when it passes
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
 * Chooses the headers that are sent on. A header that controls the service and is not on the list is refused. A signed
 * header must be sent, so it is refused unless it is a usual one or the operator allows it. Any other header is left
 * out: the less a client controls of the request to STS, the less it can influence the answer.
 */
export function selectHeaders(
  headers: HeaderValues,
  signedHeaders: ReadonlySet<string>,
  allowedByOperator: readonly string[],
): Result<Record<string, string>, string> {
  const allowed = new Set(allowedByOperator.map((name) => name.trim().toLowerCase()));
  const selected: Record<string, string> = {};
  for (const [name, values] of headers) {
    if (FRAMING_HEADERS.has(name)) continue;
    const listed = allowed.has(name) || AMZ_HEADERS.has(name);
    if (!listed && name.startsWith("x-amz-")) return err(invalidHeader);
    if (!listed && signedHeaders.has(name) && !USUAL_HEADERS.has(name)) return err(invalidHeader);
    if (listed || signedHeaders.has(name) || NEEDED_HEADERS.has(name)) selected[name] = values.join(",");
  }
  return ok(selected);
}

const invalidHeader =
  "invalid request header: only those of a GetCallerIdentity request and of allowed_sts_header_values are accepted";
