import { dateLine } from "./http-date.ts";
import { RETRY_AFTER_SECONDS } from "./limits.ts";
import type { RequestHead } from "./request-head.ts";

/** An answer that the gateway gives itself. It never repeats what the client sent. */
export interface Refusal {
  readonly status: number;
  /** Text of the one error; without it the list is empty. */
  readonly message?: string;
  /** When the client should come again. */
  readonly retryAfterSeconds?: number;
}

/** Reason phrases of the statuses that the gateway answers with. Importing node:http for its table costs 14 MiB of memory. */
const REASONS: Readonly<Record<number, string>> = {
  400: "Bad Request",
  404: "Not Found",
  405: "Method Not Allowed",
  408: "Request Timeout",
  413: "Payload Too Large",
  417: "Expectation Failed",
  431: "Request Header Fields Too Large",
  502: "Bad Gateway",
  503: "Service Unavailable",
  504: "Gateway Timeout",
};

export const BUSY: Refusal = {
  status: 503,
  message: "the service is busy; try again",
  retryAfterSeconds: RETRY_AFTER_SECONDS,
};

export const LATE: Refusal = { status: 408, message: "the request did not arrive in time" };

/** The request breaks the rules of HTTP. Its end cannot be known, so the connection closes after the answer. */
export function badRequest(message: string): Refusal {
  return { status: 400, message };
}

/**
 * The bytes of a refusal, in the shape of the service's errors.
 *
 * @param head the request, when its head was read
 * @param closes true when the connection ends with it
 */
export function renderRefusal(
  refusal: Refusal,
  head: Pick<RequestHead, "method" | "target"> | undefined,
  closes: boolean,
): string {
  const jsonApi = head?.target.startsWith("/api/v2/") ?? false;
  const body = `${JSON.stringify({ errors: jsonApi ? jsonApiErrors(refusal) : vaultErrors(refusal) })}\n`;
  const lines = [
    `HTTP/1.1 ${refusal.status} ${REASONS[refusal.status] ?? "Error"}`,
    dateLine(),
    `Content-Type: ${jsonApi ? "application/vnd.api+json" : "application/json"}`,
    "Cache-Control: no-store",
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...(refusal.retryAfterSeconds === undefined ? [] : [`Retry-After: ${refusal.retryAfterSeconds}`]),
    ...(closes ? ["Connection: close"] : []),
  ];
  return `${lines.join("\r\n")}\r\n\r\n${head?.method === "HEAD" ? "" : body}`;
}

function vaultErrors({ message }: Refusal): string[] {
  return message === undefined ? [] : [message];
}

function jsonApiErrors({ status, message }: Refusal): object[] {
  const title = (REASONS[status] ?? "error").toLowerCase();
  return [{ status: String(status), title, ...(message !== undefined && { detail: message }) }];
}
