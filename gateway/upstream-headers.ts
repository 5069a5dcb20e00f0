import type { ClientAddress } from "./client-address.ts";
import { connectionOptions, type Header, type RequestHead } from "./request-head.ts";

/** Carries the client's address to the service; only the gateway ever sets it. */
export const CLIENT_ADDRESS_HEADER = "X-Grove-Client-Address";

/** For one connection only (RFC 9110 section 7.6.1), or set anew by the gateway. */
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
 * The headers that the service gets, as a flat list of names and values.
 *
 * @param host the Host of the service
 */
export function upstreamHeaders(head: RequestHead, client: ClientAddress, bodyBytes: number, host: string): string[] {
  const named = connectionOptions(head.headers);
  const headers = ["Host", host];
  for (const [name, value] of head.headers) if (!isDropped(name, named)) headers.push(name, value);
  headers.push(CLIENT_ADDRESS_HEADER, client.address, "X-Forwarded-For", client.chain);
  // How the client called the service: links in answers lead back here and not past the gateway.
  for (const [name, value] of head.headers) {
    const lower = name.toLowerCase();
    if (lower === "host") headers.push("X-Forwarded-Host", value);
    if (lower === "x-forwarded-proto" && client.throughProxy) headers.push("X-Forwarded-Proto", value);
  }
  headers.push(...framingHeader(head.method, bodyBytes));
  return headers;
}

/** The headers of an answer that go on to the client, as lines. Its framing is the gateway's own. */
export function clientHeaderLines(rawHeaders: readonly string[]): string[] {
  const headers: Header[] = [];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    headers.push([rawHeaders[index] ?? "", rawHeaders[index + 1] ?? ""]);
  }
  const named = connectionOptions(headers);
  const kept = headers.filter(([name]) => {
    const lower = name.toLowerCase();
    return !DROPPED.has(lower) && !named.has(lower) && !lower.startsWith("proxy-");
  });
  return kept.map(([name, value]) => `${name}: ${value}`);
}

function isDropped(name: string, named: ReadonlySet<string>): boolean {
  const lower = name.toLowerCase();
  // Some servers read `X_Forwarded_For` as `X-Forwarded-For`.
  const plain = lower.replaceAll("_", "-");
  return (
    named.has(lower) ||
    DROPPED.has(plain) ||
    ADDRESS_CLAIMS.has(plain) ||
    DROPPED_PREFIXES.some((prefix) => plain.startsWith(prefix))
  );
}

/** Bodies are sent whole, so their length is always known. */
function framingHeader(method: string, bodyBytes: number): string[] {
  const hasBody = bodyBytes > 0 || ["POST", "PUT", "PATCH"].includes(method);
  return hasBody ? ["Content-Length", String(bodyBytes)] : [];
}
