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

/** Why a head cannot be used: the sender broke off, or what a client gets to read about it. */
export type HeadError = "ended" | Refusal;

const CRLF_BYTES = 2;
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** Visible characters, blanks, tabs and bytes above ASCII: no carriage return, line feed, NUL or other control character. */
const FIELD_VALUE = /^[\t -~\x80-\xff]*$/;
const LENGTH = /^\d{1,15}$/;

/**
 * Reads the first line of a request or of an answer. The grammar of heads is RFC 9112 without its tolerances (folded lines, bare
 * line feeds, blanks before the colon): each has been used to make two readers see different messages.
 */
export async function readFirstLine(reader: ByteReader): Promise<Result<string, HeadError>> {
  return lineOfHead(await reader.nextLine(MAX_HEAD_BYTES));
}

/** Reads the header lines that follow a first line, with the empty line at their end. */
export async function readHeaders(reader: ByteReader, firstLine: string): Promise<Result<Header[], HeadError>> {
  const headers: Header[] = [];
  let bytesLeft = MAX_HEAD_BYTES - firstLine.length - CRLF_BYTES;
  for (;;) {
    const maxBytes = bytesLeft - CRLF_BYTES;
    // Most heads are here as a whole: a wait for each line would cost a tenth of a request.
    const line = lineOfHead(reader.line(maxBytes) ?? (await reader.nextLine(maxBytes)));
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

/** The options of the Connection header, in lower case: `close`, `keep-alive`, and names of headers for this hop only. */
export function connectionOptions(headers: readonly Header[]): ReadonlySet<string> {
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
export function framingOf(headers: readonly Header[]): Result<BodyFraming, Refusal> {
  const lengths = valuesOf(headers, "content-length");
  const codings = valuesOf(headers, "transfer-encoding");
  if (codings.length > 0) {
    if (lengths.length > 0) return err(badRequest("Content-Length and Transfer-Encoding exclude each other"));
    if (codings.length > 1 || codings[0]?.toLowerCase() !== "chunked") return err(UNKNOWN_CODING);
    return ok({ kind: "chunked" });
  }
  const [length] = lengths;
  if (length === undefined) return ok({ kind: "none" });
  if (lengths.length > 1 || !LENGTH.test(length)) return err(badRequest("malformed Content-Length"));
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
