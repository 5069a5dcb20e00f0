import { err, ok, type Result } from "../src/base/result.ts";
import type { ByteReader, ReadError } from "./byte-reader.ts";
import { MAX_HEAD_BYTES, MAX_HEADER_COUNT } from "./limits.ts";
import { badRequest, type Refusal } from "./refusal.ts";

/** One header line: the name as sent and in lower case, the value without the blanks around it. */
export interface Header {
  readonly name: string;
  readonly lower: string;
  readonly value: string;
}

/** The header lines of a request or an answer. */
export interface Headers {
  readonly headers: readonly Header[];
  /** Where the body ends. */
  readonly body: BodyFraming;
  /** The options of the Connection header, in lower case: `close`, `keep-alive`, and names of headers for this hop only. */
  readonly options: ReadonlySet<string>;
}

/** Why a head cannot be used: the sender broke off, or what a client gets to read about it. */
export type HeadError = "ended" | Refusal;

const CRLF_BYTES = 2;
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** Visible characters, blanks, tabs and bytes above ASCII: no carriage return, line feed, NUL or other control character. */
const FIELD_VALUE = /^[\t -~\x80-\xff]*$/;
const LENGTH = /^\d{1,15}$/;

/**
 * Reads the head of a request or an answer. The grammar is RFC 9112 without its tolerances (folded lines, bare
 * line feeds, blanks before the colon): each has been used to make two readers see different messages.
 *
 * @param parseFirstLine asked before the rest is read: the rest of something that is no HTTP may never come
 */
export async function readHead<T extends object>(
  reader: ByteReader,
  parseFirstLine: (line: string) => Result<T, Refusal>,
): Promise<Result<T & Headers, HeadError>> {
  const line = lineOfHead(await reader.nextLine(MAX_HEAD_BYTES));
  if (!line.ok) return line;
  const first = parseFirstLine(line.value);
  if (!first.ok) return first;
  const headers = await readHeaders(reader, MAX_HEAD_BYTES - line.value.length - CRLF_BYTES);
  if (!headers.ok) return headers;
  const body = framingOf(headers.value);
  if (!body.ok) return body;
  return ok({ ...first.value, headers: headers.value, body: body.value, options: connectionOptions(headers.value) });
}

/** Reads header lines, with the empty line at their end. */
async function readHeaders(reader: ByteReader, maxBytes: number): Promise<Result<Header[], HeadError>> {
  const headers: Header[] = [];
  let bytesLeft = maxBytes - CRLF_BYTES;
  for (;;) {
    // Most heads are here as a whole: a wait for each line would cost a tenth of a request.
    const line = lineOfHead(reader.line(bytesLeft) ?? (await reader.nextLine(bytesLeft)));
    if (!line.ok) return line;
    if (line.value === "") return ok(headers);
    if (headers.length === MAX_HEADER_COUNT) return err({ status: 431, message: "too many header lines" });
    bytesLeft -= line.value.length + CRLF_BYTES;
    const colon = line.value.indexOf(":");
    const name = line.value.slice(0, Math.max(colon, 0));
    if (!TOKEN.test(name)) return err(badRequest("malformed header line"));
    const value = line.value.slice(colon + 1);
    if (!FIELD_VALUE.test(value)) return err(badRequest("malformed header value"));
    headers.push({ name, lower: name.toLowerCase(), value: trimBlanks(value) });
  }
}

function lineOfHead(line: Result<string, ReadError>): Result<string, HeadError> {
  if (line.ok) return line;
  if (line.error === "ended") return err("ended");
  if (line.error === "malformed") return err(badRequest("a line must end with CRLF"));
  return err({ status: 431, message: "the request's headers are too large" });
}

/** The values of all headers of a name (lower case), in order. */
export function valuesOf(headers: readonly Header[], name: string): string[] {
  const values: string[] = [];
  for (const header of headers) if (header.lower === name) values.push(header.value);
  return values;
}

function connectionOptions(headers: readonly Header[]): ReadonlySet<string> {
  const options = valuesOf(headers, "connection").flatMap((value) => value.split(","));
  // A set: a client can name 16,000 options, and each header is looked for among them.
  return new Set(options.map((option) => trimBlanks(option).toLowerCase()));
}

/** Where a message's body ends. */
export type BodyFraming =
  | { readonly kind: "none" }
  | { readonly kind: "length"; readonly bytes: number }
  | { readonly kind: "chunked" };

/**
 * What the headers say of the body's end. A message with two lengths, or a length and a transfer coding, ends in one place
 * for one reader and elsewhere for another: the rest becomes a message that no client sent. So nothing ambiguous passes, not
 * even two equal lengths.
 */
function framingOf(headers: readonly Header[]): Result<BodyFraming, Refusal> {
  const [length, ...lengths] = valuesOf(headers, "content-length");
  const [coding, ...codings] = valuesOf(headers, "transfer-encoding");
  if (coding !== undefined) {
    if (length !== undefined) return err(badRequest("Content-Length and Transfer-Encoding exclude each other"));
    return codings.length > 0 || coding.toLowerCase() !== "chunked" ? err(UNKNOWN_CODING) : ok({ kind: "chunked" });
  }
  if (length === undefined) return ok({ kind: "none" });
  if (lengths.length > 0 || !LENGTH.test(length)) return err(badRequest("malformed Content-Length"));
  return ok({ kind: "length", bytes: Number(length) });
}

export const UNKNOWN_CODING = badRequest("the only transfer coding is chunked");

/** True when a body of at least one byte is announced. */
export function announcesBody(framing: BodyFraming): boolean {
  return framing.kind === "chunked" || (framing.kind === "length" && framing.bytes > 0);
}

/** Only blank and tab are blanks in HTTP; `trim()` would also remove a non-breaking space. A loop, as `/[ ]+$/` is quadratic. */
function trimBlanks(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isBlank(text.charCodeAt(start))) start++;
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--;
  return text.slice(start, end);
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09;
}
