import { err, ok, type Result } from "../../../base/result.ts";
import type { HeaderValues } from "./header-values.ts";

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
