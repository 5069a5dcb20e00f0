import type { Client } from "./client-address.ts";
import type { RequestHead, ResponseHead } from "./heads.ts";

/** Carries the client's address to the service; only the gateway ever sets it. */
export const CLIENT_ADDRESS_HEADER = "X-Grove-Client-Address";

/** For one connection only (RFC 9110 section 7.6.1), what proxies say to each other, and what the gateway sets again. */
const OF_HOP = /^(?:connection|keep-alive|te|trailer|transfer-encoding|upgrade|content-length|host|expect)$|^proxy-/;

/** Headers by which a client could lie about its address. */
const ADDRESS_CLAIM =
  /^(?:forwarded|x-real-ip|x-client-ip|x-cluster-client-ip|true-client-ip)$|^(?:x-forwarded|cf-connecting|cf-pseudo)-/;

/** Grove's own headers, and those that steer the local development server. */
const INTERNAL = /^(?:x-grove|mf)-/;

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

/**
 * The head of an answer as it goes on to the client, with a date where the service sends none. Its framing is the gateway's own.
 *
 * @param inChunks true when its body is sent in chunks
 * @param closes true when the connection ends with it
 */
export function renderAnswerHead(head: ResponseHead, inChunks: boolean, closes: boolean): string {
  let text = `HTTP/1.1 ${head.status} ${head.reason}\r\n`;
  let dated = false;
  for (const { name, lower, value } of head.headers) {
    // Where no body follows the length is kept too: to a HEAD it says how long one would be. A 204 has none.
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
 * The target that asks for a listing with GET: `list=true` joins the query, in place of any `list` that the client sent.
 * The rest of the target stays byte for byte.
 *
 * @param target path with an optional query, as in `/v1/auth/token/accessors?after=x`
 */
export function listTarget(target: string): string {
  const mark = target.indexOf("?");
  if (mark === -1) return `${target}?list=true`;
  const parameters = target.slice(mark + 1).split("&");
  // Names are compared as the service decodes them: `%6cist=false` is a `list` too.
  const kept = parameters.filter((parameter) => parameter !== "" && !new URLSearchParams(parameter).has("list"));
  return `${target.slice(0, mark)}?${[...kept, "list=true"].join("&")}`;
}

/**
 * True for the paths that the platform keeps to itself. On the network they never reach a Worker; the local runtimes
 * have controls there that must not be open to clients of the gateway.
 */
export function isPlatformPath(target: string): boolean {
  // Parsed as the runtime does, so that `/./cdn-cgi/` is seen too; escapes other than of dots stay escaped there.
  return (
    target.includes("cdn-cgi") && URL.parse(`http://localhost${target}`)?.pathname.startsWith("/cdn-cgi/") !== false
  );
}
