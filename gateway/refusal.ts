import { randomUUID } from "node:crypto";
import { MAX_PATH_LENGTH } from "../src/base/limits.ts";
import { auditPath, unservedPath } from "../src/wire/audit-masking.ts";
import { operationOfMethod } from "../src/wire/http-method.ts";

/** An answer by the gateway itself. It never repeats what the client sent. */
export interface Refusal {
  readonly status: number;
  /** Text of the error; without it the list of errors is empty. */
  readonly message?: string;
  /** Seconds after which the client should retry. */
  readonly retryAfterSeconds?: number;
}

/** The request line of a refused request. */
interface RefusedRequest {
  readonly method: string;
  readonly target: string;
}

/** Reason phrases by status. Importing the module would read all of its exports, which takes 14 MiB of memory. */
const { STATUS_CODES } = process.getBuiltinModule("node:http");

export const BUSY = { status: 503, message: "the service is busy; try again", retryAfterSeconds: 1 } satisfies Refusal;
export const LATE: Refusal = { status: 408, message: "the request did not arrive in time" };
export const TOO_LARGE: Refusal = { status: 413, message: "http: request body too large" };

/** Refuses a malformed message. Where the next request starts is unknown, so the connection closes after the answer. */
export function badRequest(message: string): Refusal {
  return { status: 400, message };
}

/**
 * The bytes of a refusal, in the format of the service's errors.
 *
 * @param head the request, if its head was read
 * @param closes true when the connection closes after it
 */
export function renderRefusal(refusal: Refusal, head: RefusedRequest | undefined, closes: boolean): string {
  const { status, message, retryAfterSeconds } = refusal;
  const reason = STATUS_CODES[status] ?? "Error";
  const jsonApi = head?.target.startsWith("/api/v2/") ?? false;
  const jsonApiError = { status: String(status), title: reason.toLowerCase(), detail: message };
  const errors = jsonApi ? [jsonApiError] : message === undefined ? [] : [message];
  const body = `${JSON.stringify({ errors })}\n`;
  const lines = [
    `HTTP/1.1 ${status} ${reason}`,
    `Date: ${new Date().toUTCString()}`,
    `Content-Type: ${jsonApi ? "application/vnd.api+json" : "application/json"}`,
    "Cache-Control: no-store",
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...(retryAfterSeconds === undefined ? [] : [`Retry-After: ${retryAfterSeconds}`]),
    ...(closes ? ["Connection: close"] : []),
  ];
  return `${lines.join("\r\n")}\r\n\r\n${head?.method === "HEAD" ? "" : body}`;
}

/** The answer to `GET /ready`: whether this node may get requests. */
export function renderReadiness(isReady: boolean, closes: boolean, isHead: boolean): string {
  const body = `${JSON.stringify({ ready: isReady })}\n`;
  const lines = [
    `HTTP/1.1 ${isReady ? "200 OK" : "503 Service Unavailable"}`,
    `Date: ${new Date().toUTCString()}`,
    "Content-Type: application/json",
    "Cache-Control: no-store",
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...(closes ? ["Connection: close"] : []),
  ];
  return `${lines.join("\r\n")}\r\n\r\n${isHead ? "" : body}`;
}

/**
 * The audit line of a refused request, with the fields of the service's audit lines. It has no secret and no field of a body.
 *
 * @param head the request, if its head was read
 * @param now milliseconds since 1970
 */
export function refusalLine(
  { status, message }: Refusal,
  head: RefusedRequest | undefined,
  clientAddress: string,
  now: number,
) {
  return {
    type: "gateway",
    time: new Date(now).toISOString(),
    request_id: randomUUID(),
    operation: head?.method === "LIST" ? "list" : (operationOfMethod(head?.method ?? "") ?? "unknown"),
    path: head === undefined ? "" : loggedPath(head.target),
    status,
    ...(message !== undefined && { error: message }),
    client_address: clientAddress,
  };
}

/** The path without the query, and without segments that may be tokens: this request was not checked. */
function loggedPath(target: string): string {
  const [path = ""] = target.split("?", 1);
  try {
    const decoded = decodeURIComponent(path).replace(/^\/(?:v1|api\/v2)\//, "");
    if (decoded.length <= MAX_PATH_LENGTH) return auditPath(unservedPath(decoded));
  } catch {
    // A malformed percent escape.
  }
  return "<malformed>";
}
