import { randomUUID } from "node:crypto";
import { MAX_PATH_LENGTH } from "../src/base/limits.ts";
import { auditPath, unservedPath } from "../src/wire/audit.ts";
import { operationOfMethod } from "../src/wire/method.ts";
import { RETRY_AFTER_SECONDS } from "./limits.ts";

/** An answer that the gateway gives itself. It never repeats what the client sent. */
export interface Refusal {
  readonly status: number;
  /** Text of the one error; without it the list is empty. */
  readonly message?: string;
  /** When the client should come again. */
  readonly retryAfterSeconds?: number;
}

/** What is known of a refused request. */
interface RefusedRequest {
  readonly method: string;
  readonly target: string;
}

/** Reason phrases by status. An import of the module would read all that it exports, which takes 14 MiB of memory. */
const { STATUS_CODES } = process.getBuiltinModule("node:http");

export const BUSY = {
  status: 503,
  message: "the service is busy; try again",
  retryAfterSeconds: RETRY_AFTER_SECONDS,
} satisfies Refusal;
export const LATE: Refusal = { status: 408, message: "the request did not arrive in time" };
export const TOO_LARGE: Refusal = { status: 413, message: "http: request body too large" };

/** The refusal of what is malformed: where the next request starts cannot be known, so the connection closes after the answer. */
export function badRequest(message: string): Refusal {
  return { status: 400, message };
}

/**
 * The bytes of a refusal, in the shape of the service's errors.
 *
 * @param head the request, when its head was read
 * @param closes true when the connection ends with it
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

/**
 * The line of the audit log for a request that the gateway answers itself, in the terms of the service's own lines. It holds no
 * secret and no field of a body.
 *
 * @param head the request, when its head was read
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

/** The path without the query, and without what could be a token in it: nothing has checked this request. */
function loggedPath(target: string): string {
  const [path = ""] = target.split("?", 1);
  try {
    const decoded = decodeURIComponent(path).replace(/^\/(?:v1|api\/v2)\//, "");
    if (decoded.length <= MAX_PATH_LENGTH) return auditPath(unservedPath(decoded));
  } catch {
    // It has escapes that stand for nothing.
  }
  return "<malformed>";
}
