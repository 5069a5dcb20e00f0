import type { Client } from "./client-address.ts";
import type { Headers } from "./message-head.ts";
import type { RequestHead } from "./request-head.ts";
import { listTarget } from "./target.ts";

/** Carries the client's address to the service; only the gateway ever sets it. */
export const CLIENT_ADDRESS_HEADER = "X-Grove-Client-Address";

/** For one connection only (RFC 9110 section 7.6.1), or set again by the gateway. */
const DROPPED = new Set([
  "connection",
  "keep-alive",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "content-length",
  "host",
  "expect",
]);

/** Headers by which a client could lie about its address. */
const ADDRESS_CLAIMS = new Set([
  "forwarded",
  "x-real-ip",
  "x-client-ip",
  "x-cluster-client-ip",
  "true-client-ip",
  "cf-connecting-ip",
  "cf-connecting-ipv6",
  "cf-pseudo-ipv4",
]);

/**
 * Families of headers that no client may send on: what proxies say to each other, Grove's own, and those that steer the
 * local development server.
 */
const DROPPED_PREFIXES = ["proxy-", "x-forwarded-", "x-grove-", "mf-"];

/**
 * The head of a request to the service without the empty line at its end, as latin1: LIST is GET with `list=true`. Bodies are sent whole, so their length is always known.
 *
 * @param host the Host of the service
 */
export function renderRequestHead(head: RequestHead, host: string, client: Client, bodyBytes: number): string {
  const isList = head.method === "LIST";
  const method = isList ? "GET" : head.method;
  let text = `${method} ${isList ? listTarget(head.target) : head.target} HTTP/1.1\r\nHost: ${host}\r\n`;
  for (const header of head.headers) {
    // How the client called the service: links in answers lead back here and not past the gateway.
    if (header.lower === "host") text += `X-Forwarded-Host: ${header.value}\r\n`;
    else if (header.lower === "x-forwarded-proto" && client.throughProxy)
      text += `X-Forwarded-Proto: ${header.value}\r\n`;
    else if (!isDropped(header.lower, head.options)) text += `${header.name}: ${header.value}\r\n`;
  }
  if (bodyBytes > 0 || method === "POST" || method === "PUT" || method === "PATCH")
    text += `Content-Length: ${bodyBytes}\r\n`;
  return `${text}${CLIENT_ADDRESS_HEADER}: ${client.address}\r\nX-Forwarded-For: ${client.address}\r\n`;
}

/** The header lines of an answer that go on to the client, and a date where the service sends none. Its framing is the gateway's own. */
export function renderAnswerHeaders({ headers, options }: Headers): string {
  let text = "";
  let dated = false;
  for (const { name, lower, value } of headers) {
    if (DROPPED.has(lower) || options.has(lower) || lower.startsWith("proxy-")) continue;
    if (lower === "date") dated = true;
    text += `${name}: ${value}\r\n`;
  }
  return dated ? text : `${text}Date: ${new Date().toUTCString()}\r\n`;
}

function isDropped(lower: string, options: ReadonlySet<string>): boolean {
  // Some servers read `X_Forwarded_For` as `X-Forwarded-For`.
  const plain = lower.includes("_") ? lower.replaceAll("_", "-") : lower;
  return (
    options.has(lower) ||
    DROPPED.has(plain) ||
    ADDRESS_CLAIMS.has(plain) ||
    DROPPED_PREFIXES.some((prefix) => plain.startsWith(prefix))
  );
}
