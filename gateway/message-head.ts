import { err, ok, type Result } from "../src/base/result.ts";
import type { ByteReader, LineError } from "./byte-reader.ts";
import { announcesBody, type BodyFraming, framingOf, type Header, UNKNOWN_CODING, valuesOf } from "./framing.ts";
import { MAX_HEAD_BYTES, MAX_HEADER_COUNT } from "./limits.ts";
import { badRequest, type Refusal } from "./refusal.ts";

/** The header lines of a request or an answer. */
export interface Headers {
  readonly headers: readonly Header[];
  readonly body: BodyFraming;
  /** Options of the Connection header in lower case: `close`, `keep-alive`, and names of headers for this hop only. */
  readonly options: ReadonlySet<string>;
}

/** A head whose first line is not interpreted yet. */
interface Head extends Headers {
  readonly first: RegExpExecArray;
}

/** Why a message cannot be read: the sender has closed the connection, or the refusal for the client. */
export type MessageError = "ended" | Refusal;

const CRLF_BYTES = 2;
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** Visible characters, blanks, tabs and bytes above ASCII; no carriage return, line feed, NUL or other control character. */
const FIELD_VALUE = /^[\t -~\x80-\xff]*$/;
const BLANKS = new Set([" ", "\t"]);

const UNREADABLE: Readonly<Record<LineError | "ended", MessageError>> = {
  ended: "ended",
  malformed: badRequest("a line must end with CRLF"),
  "too-long": { status: 431, message: "the request's headers are too large" },
};

/**
 * Reads a head. The grammar is RFC 9112 without its tolerances (folded lines, bare line feeds, blanks before the colon):
 * each of these has been used to make two readers see different messages.
 *
 * @param firstLine pattern of the first line, which is checked at once: the rest of a message in another protocol may never come
 */
async function readHead(reader: ByteReader, firstLine: RegExp): Promise<Result<Head, MessageError>> {
  let first: RegExpExecArray | null = null;
  const headers: Header[] = [];
  for (let bytesLeft = MAX_HEAD_BYTES - CRLF_BYTES; ; ) {
    const line = reader.line(bytesLeft) ?? (await reader.nextLine(bytesLeft));
    if (!line.ok) return err(UNREADABLE[line.error]);
    bytesLeft -= line.value.length + CRLF_BYTES;
    if (first === null) {
      first = firstLine.exec(line.value);
      if (first === null) return err(badRequest("malformed request line"));
      continue;
    }
    if (line.value === "") {
      const body = framingOf(headers);
      // A set, because a client can send 16,000 options and each header is compared with them.
      const options = new Set(valuesOf(headers, "connection").join(",").toLowerCase().split(",").map(trimBlanks));
      return body.ok ? ok({ first, headers, body: body.value, options }) : body;
    }
    if (headers.length === MAX_HEADER_COUNT) return err({ status: 431, message: "too many header lines" });
    const colon = line.value.indexOf(":");
    const name = line.value.slice(0, Math.max(colon, 0));
    if (!TOKEN.test(name)) return err(badRequest("malformed header line"));
    const value = line.value.slice(colon + 1);
    if (!FIELD_VALUE.test(value)) return err(badRequest("malformed header value"));
    headers.push({ name, lower: name.toLowerCase(), value: trimBlanks(value) });
  }
}

/** Removes blanks and tabs only; `trim()` would also remove a non-breaking space. A loop, because `/[ ]+$/` is quadratic. */
function trimBlanks(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && BLANKS.has(text.charAt(start))) start++;
  while (end > start && BLANKS.has(text.charAt(end - 1))) end--;
  return text.slice(start, end);
}

/** A checked request line with its headers. */
export interface RequestHead extends Headers {
  readonly method: string;
  /** Starts with a slash (origin form). Its path has neither backslashes nor relative segments. */
  readonly target: string;
  /** True for an HTTP/1.0 client, which does not understand a chunked answer. */
  readonly http10: boolean;
  /** False when the connection must close after the answer. */
  readonly keepAlive: boolean;
  /** True when the client waits for `100 Continue` before it sends the body. */
  readonly expectsContinue: boolean;
}

/** All other methods are refused before they cost a connection to the service. */
const METHODS = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "LIST"]);

const REQUEST_LINE = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+) ([!-~]+) HTTP\/(\d)\.(\d)$/;
const HOST = /^[A-Za-z0-9._~!$&'()*+,;=:%[\]-]*$/;

/** A path with a segment `.` or `..`, also percent-encoded. URL parsers resolve it, which gives another path. */
const RELATIVE = /^[^?]*\/(?:\.|%2e){1,2}(?:[/?]|$)/i;

/** Escapes backslashes in the path: a URL parser behind the gateway could read them as slashes. */
function withoutBackslashes(target: string): string {
  if (!target.includes("\\")) return target;
  const [path = "", ...query] = target.split("?");
  return [path.replaceAll("\\", "%5C"), ...query].join("?");
}

/** Reads the head of a request. After a refusal (400, 405, 417, 431) the connection must close. */
export async function readRequestHead(reader: ByteReader): Promise<Result<RequestHead, MessageError>> {
  const head = await readHead(reader, REQUEST_LINE);
  if (!head.ok) return head;
  const { first, headers, body, options } = head.value;
  const [, method = "", sentTarget = "", major, minor] = first;
  if (major !== "1" || (minor !== "0" && minor !== "1")) return err(badRequest("only HTTP/1.1 is spoken here"));
  if (!METHODS.has(method)) return err({ status: 405 });
  // A request has no fragment, and an absolute target would name a host of the client's choice.
  if (!sentTarget.startsWith("/") || sentTarget.includes("#")) {
    return err(badRequest("the request target must be a path"));
  }
  const target = withoutBackslashes(sentTarget);
  if (RELATIVE.test(target)) return err(badRequest("relative paths not supported"));
  const http10 = minor === "0";
  const hosts = valuesOf(headers, "host");
  const hostMissing = hosts.length === 0 && !http10;
  if (hostMissing || hosts.length > 1 || !HOST.test(hosts[0] ?? "")) {
    return err(badRequest("exactly one valid Host header is needed"));
  }
  if (body.kind === "chunked" && http10) return err(UNKNOWN_CODING);
  const expectations = valuesOf(headers, "expect");
  if (expectations.some((value) => value.toLowerCase() !== "100-continue")) {
    return err({ status: 417, message: "only the expectation 100-continue is known" });
  }
  const expectsContinue = expectations.length > 0 && !http10 && announcesBody(body);
  const keepAlive = !http10 && !options.has("close");
  return ok({ method, target, http10, headers, body, options, keepAlive, expectsContinue });
}

/** A checked status line with its headers. The status is 200 or above. */
export interface ResponseHead extends Headers {
  readonly status: number;
  readonly reason: string;
  /** False when the connection must close after this answer. */
  readonly keepAlive: boolean;
}

/** 101 is refused: it would switch the connection to another protocol. */
const STATUS_LINE = /^HTTP\/1\.1 (?!101)([1-5]\d\d)(?: ([\t -~\x80-\xff]*))?$/;

/** Maximum number of informational answers before the final one. */
const MAX_INFORMATIONAL = 16;

const MALFORMED_ANSWER: Refusal = { status: 502, message: "malformed answer" };

/**
 * Reads the head of an answer as strictly as that of a request: with an ambiguous answer, the next client on the connection
 * could get a wrong one. An answer that ends with the connection is malformed, because a truncated one would look complete.
 *
 * @param isHead true for the answer to HEAD, which has no body
 */
export async function readResponseHead(
  reader: ByteReader,
  isHead: boolean,
): Promise<Result<ResponseHead, MessageError>> {
  for (let count = 0; count <= MAX_INFORMATIONAL; count++) {
    const head = await readHead(reader, STATUS_LINE);
    if (!head.ok) return head;
    const { first, headers, body, options } = head.value;
    const [, code, reason = ""] = first;
    const status = Number(code);
    if (status < 200) continue;
    const hasNoBody = status === 204 || status === 304 || isHead;
    if (!hasNoBody && body.kind === "none") return err(MALFORMED_ANSWER);
    // The service may send the body that it announces for a 204.
    const contradicts = status === 204 && announcesBody(body);
    const keepAlive = !options.has("close") && !contradicts;
    return ok({ status, reason, headers, options, body: hasNoBody ? { kind: "none" } : body, keepAlive });
  }
  return err(MALFORMED_ANSWER);
}
