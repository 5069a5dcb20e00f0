import { err, ok, type Result } from "../src/base/result.ts";
import type { ByteReader, LineError } from "./byte-reader.ts";
import { MAX_HEAD_BYTES, MAX_HEADER_COUNT } from "./limits.ts";
import { badRequest, type Refusal } from "./refusal.ts";

/** One header line: the name as sent, the value without the blanks around it. */
export type Header = readonly [name: string, value: string];

/** Where a request's body ends. */
export type BodyFraming =
  | { readonly kind: "none" }
  | { readonly kind: "length"; readonly bytes: number }
  | { readonly kind: "chunked" };

/** A request line and its headers, checked. */
export interface RequestHead {
  readonly method: string;
  /** Origin form: starts with a slash. */
  readonly target: string;
  readonly headers: readonly Header[];
  readonly body: BodyFraming;
  /** True for an HTTP/1.0 client, which does not understand a chunked answer. */
  readonly http10: boolean;
  /** False when the client wants the connection closed after the answer. */
  readonly keepAlive: boolean;
  /** True when the client waits for `100 Continue` before it sends the body. */
  readonly expectsContinue: boolean;
}

/** Reading stopped before a request was complete: nothing is left to answer. */
export type Disconnected = "disconnected";

/** Anything else is refused before it costs a connection to the service; LIST is what the gateway is for. */
const METHODS = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "LIST"]);

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const REQUEST_LINE = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+) ([!-~]+) HTTP\/(\d)\.(\d)$/;
/** Visible characters, blanks, tabs and bytes above ASCII: no carriage return, line feed, NUL or other control character. */
const FIELD_VALUE = /^[\t -~\x80-\xff]*$/;
const HOST = /^[A-Za-z0-9._~!$&'()*+,;=:%[\]-]*$/;
const LENGTH = /^\d{1,15}$/;

/**
 * Reads one request's head. The grammar is RFC 9112 without its tolerances (folded lines, bare line feeds, blanks before
 * the colon, repeated lengths, absolute targets): each has been used to make two servers see different requests.
 *
 * @returns a refusal (400, 405, 417, 431) after which the connection must close
 */
export async function readRequestHead(reader: ByteReader): Promise<Result<RequestHead, Refusal | Disconnected>> {
  let budget = MAX_HEAD_BYTES;
  const first = await reader.nextLine(budget);
  if (!first.ok) return lineFailure(first.error);
  budget -= first.value.length + 2;
  const requestLine = parseRequestLine(first.value);
  if (!requestLine.ok) return requestLine;

  const headers: Header[] = [];
  for (;;) {
    const line = await reader.nextLine(Math.max(budget, 0));
    if (!line.ok) return lineFailure(line.error);
    if (line.value === "") break;
    budget -= line.value.length + 2;
    if (headers.length === MAX_HEADER_COUNT) return err({ status: 431, message: "too many header lines" });
    const header = parseHeader(line.value);
    if (!header.ok) return header;
    headers.push(header.value);
  }
  return interpret(requestLine.value, headers);
}

/** One header line of a request, or of the fields after a chunked body. */
export function parseHeader(line: string): Result<Header, Refusal> {
  const colon = line.indexOf(":");
  const name = line.slice(0, Math.max(colon, 0));
  if (!TOKEN.test(name)) return err(badRequest("malformed header line"));
  const value = line.slice(colon + 1);
  if (!FIELD_VALUE.test(value)) return err(badRequest("malformed header value"));
  return ok([name, trimBlanks(value)]);
}

interface RequestLine {
  readonly method: string;
  readonly target: string;
  readonly http10: boolean;
}

function parseRequestLine(line: string): Result<RequestLine, Refusal> {
  const [, method, target, major, minor] = REQUEST_LINE.exec(line) ?? [];
  if (method === undefined || target === undefined) return err(badRequest("malformed request line"));
  if (major !== "1" || (minor !== "0" && minor !== "1")) return err(badRequest("only HTTP/1.1 is spoken here"));
  if (!METHODS.has(method)) return err({ status: 405 });
  // A fragment never belongs on the wire, and an absolute target would name a host of the client's choice.
  if (!target.startsWith("/") || target.includes("#")) return err(badRequest("the request target must be a path"));
  return ok({ method, target, http10: minor === "0" });
}

function interpret(line: RequestLine, headers: readonly Header[]): Result<RequestHead, Refusal> {
  const hosts = valuesOf(headers, "host");
  const hostMissing = hosts.length === 0 && !line.http10;
  if (hostMissing || hosts.length > 1 || !HOST.test(hosts[0] ?? "")) {
    return err(badRequest("exactly one valid Host header is needed"));
  }

  const body = bodyFraming(headers, line.http10);
  if (!body.ok) return body;

  const expectations = valuesOf(headers, "expect");
  if (expectations.some((value) => value.toLowerCase() !== "100-continue")) {
    return err({ status: 417, message: "only the expectation 100-continue is known" });
  }

  return ok({
    ...line,
    headers,
    body: body.value,
    keepAlive: !line.http10 && !connectionOptions(headers).has("close"),
    expectsContinue: expectations.length > 0 && !line.http10 && body.value.kind !== "none",
  });
}

/**
 * A request with two lengths, or a length and a transfer coding, ends in one place for one server and elsewhere for
 * another: the rest becomes a request that nobody sent. So nothing ambiguous passes, not even two equal lengths.
 */
function bodyFraming(headers: readonly Header[], http10: boolean): Result<BodyFraming, Refusal> {
  const lengths = valuesOf(headers, "content-length");
  const codings = valuesOf(headers, "transfer-encoding");
  if (codings.length > 0) {
    if (lengths.length > 0) return err(badRequest("Content-Length and Transfer-Encoding exclude each other"));
    const [coding] = codings;
    if (http10 || codings.length > 1 || coding?.toLowerCase() !== "chunked") {
      return err(badRequest("the only transfer coding is chunked"));
    }
    return ok({ kind: "chunked" });
  }
  const [length] = lengths;
  if (length === undefined) return ok({ kind: "none" });
  if (lengths.length > 1 || !LENGTH.test(length)) return err(badRequest("malformed Content-Length"));
  const bytes = Number(length);
  return ok(bytes === 0 ? { kind: "none" } : { kind: "length", bytes });
}

/** The values of all headers of a name (lower case), in order. */
export function valuesOf(headers: readonly Header[], name: string): string[] {
  return headers.filter((header) => header[0].toLowerCase() === name).map((header) => header[1]);
}

/** The options of the Connection header, in lower case: `close`, `keep-alive`, and names of headers for this hop only. */
export function connectionOptions(headers: readonly Header[]): Set<string> {
  const options = valuesOf(headers, "connection").flatMap((value) => value.split(","));
  return new Set(options.map((option) => trimBlanks(option).toLowerCase()));
}

/** Only blank and tab are blanks in HTTP; `trim()` would also remove a non-breaking space. A loop, as `/[ ]+$/` is quadratic. */
function trimBlanks(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isBlank(text, start)) start++;
  while (end > start && isBlank(text, end - 1)) end--;
  return text.slice(start, end);
}

function isBlank(text: string, index: number): boolean {
  return text[index] === " " || text[index] === "\t";
}

function lineFailure(error: LineError): Result<never, Refusal | Disconnected> {
  switch (error) {
    case "ended":
      return err("disconnected");
    case "too-long":
      return err({ status: 431, message: "the request's headers are too large" });
    case "malformed":
      return err(badRequest("a line must end with CRLF"));
  }
}
