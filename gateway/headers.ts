import type { Client } from "./client-address.ts";
import { listTarget } from "./list-method.ts";
import type { RequestHead, ResponseHead } from "./message-head.ts";

/** Header with the client's address for the service. Only the gateway sets it. */
export const CLIENT_ADDRESS_HEADER = "X-Grove-Client-Address";

/** Headers for one connection only (RFC 9110 section 7.6.1), and those that the gateway sets itself. */
const OF_HOP = /^(?:connection|keep-alive|te|trailer|transfer-encoding|upgrade|content-length|host|expect)$|^proxy-/;

/** Headers with which a client could forge its address. */
const ADDRESS_CLAIM =
  /^(?:forwarded|x-real-ip|x-client-ip|x-cluster-client-ip|true-client-ip)$|^(?:x-forwarded|cf-connecting|cf-pseudo)-/;

/** Headers of Grove, and those that control the local development server. */
const INTERNAL = /^(?:x-grove|mf)-/;

/**
 * The head of a request to the service without the empty line at its end, as latin1. LIST becomes GET with `list=true`.
 *
 * @param host the Host of the service
 * @param bodyBytes length of the body, which is always complete
 */
export function renderRequestHead(head: RequestHead, host: string, client: Client, bodyBytes: number): string {
  const isList = head.method === "LIST";
  const method = isList ? "GET" : head.method;
  let text = `${method} ${isList ? listTarget(head.target) : head.target} HTTP/1.1\r\nHost: ${host}\r\n`;
  for (const { name, lower, value } of head.headers) {
    // With the host name that the client used, links in answers lead back to the gateway.
    if (lower === "host") text += `X-Forwarded-Host: ${value}\r\n`;
    else if (lower === "x-forwarded-proto" && client.throughProxy) text += `X-Forwarded-Proto: ${value}\r\n`;
    else if (!isDropped(lower, head.options)) text += `${name}: ${value}\r\n`;
  }
  const hasLength = bodyBytes > 0 || method === "POST" || method === "PUT" || method === "PATCH";
  if (hasLength) text += `Content-Length: ${bodyBytes}\r\n`;
  return `${text}${CLIENT_ADDRESS_HEADER}: ${client.address}\r\nX-Forwarded-For: ${client.address}\r\n`;
}

/**
 * The head of an answer to the client. The gateway writes its framing, and its date if the service sends none.
 *
 * @param inChunks true when the body is sent in chunks
 * @param closes true when the connection closes after it
 */
export function renderAnswerHead(head: ResponseHead, inChunks: boolean, closes: boolean): string {
  let text = `HTTP/1.1 ${head.status} ${head.reason}\r\n`;
  let dated = false;
  for (const { name, lower, value } of head.headers) {
    // An answer to HEAD has the length of the body that it leaves out. A 204 has no length.
    const isLength = lower === "content-length" && head.body.kind !== "chunked" && head.status !== 204;
    if (!isLength && (OF_HOP.test(lower) || head.options.has(lower))) continue;
    if (lower === "date") dated = true;
    text += `${name}: ${value}\r\n`;
  }
  if (!dated) text += `Date: ${new Date().toUTCString()}\r\n`;
  if (inChunks) text += "Transfer-Encoding: chunked\r\n";
  return `${text}${closes ? "Connection: close\r\n" : ""}\r\n`;
}

function isDropped(lower: string, options: ReadonlySet<string>): boolean {
  // Some servers read `X_Forwarded_For` as `X-Forwarded-For`.
  const plain = lower.includes("_") ? lower.replaceAll("_", "-") : lower;
  return options.has(lower) || OF_HOP.test(plain) || ADDRESS_CLAIM.test(plain) || INTERNAL.test(plain);
}

/**
 * True for paths of the platform. On Cloudflare's network they never reach a Worker. In local runtimes they are control
 * endpoints, which clients of the gateway must not reach.
 */
export function isPlatformPath(target: string): boolean {
  // The local runtimes decode no percent escapes in it.
  return target.startsWith("/cdn-cgi/");
}
