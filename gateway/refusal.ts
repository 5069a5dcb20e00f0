import { STATUS_CODES } from "node:http";

/** An answer that the gateway gives itself, in the shape of the service's errors. It never repeats what the client sent. */
export interface Refusal {
  readonly status: number;
  /** Text of the one error; without it the list is empty. */
  readonly message?: string;
  /** When the client should come again. */
  readonly retryAfterSeconds?: number;
}

/** The request breaks the rules of HTTP. Its end cannot be known, so the connection closes after the answer. */
export function badRequest(message: string): Refusal {
  return { status: 400, message };
}

/** The bytes of a refusal; it always ends the connection. `withBody` is false for an answer to HEAD. */
export function renderRefusal(refusal: Refusal, withBody = true): Buffer {
  const body = `${JSON.stringify({ errors: refusal.message === undefined ? [] : [refusal.message] })}\n`;
  const head = [
    `HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status] ?? "Error"}`,
    "Content-Type: application/json",
    "Cache-Control: no-store",
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...(refusal.retryAfterSeconds === undefined ? [] : [`Retry-After: ${refusal.retryAfterSeconds}`]),
    "Connection: close",
  ];
  return Buffer.from(`${head.join("\r\n")}\r\n\r\n${withBody ? body : ""}`);
}
