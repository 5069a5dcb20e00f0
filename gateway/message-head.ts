import { err, ok, type Result } from "../src/base/result.ts";
import type { ByteReader, LineError } from "./byte-reader.ts";
import { MAX_HEAD_BYTES, MAX_HEADER_COUNT } from "./limits.ts";

/** One header line: the name as sent and in lower case, the value without the blanks around it. */
export interface Header {
  readonly name: string;
  readonly lower: string;
  readonly value: string;
}

/** Why a head cannot be read. */
export type HeadError = LineError | "malformed-name" | "malformed-value" | "too-many";

/** A first line and the header lines after it. */
export interface MessageHead<First> {
  readonly first: First;
  readonly headers: readonly Header[];
}

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** Visible characters, blanks, tabs and bytes above ASCII: no carriage return, line feed, NUL or other control character. */
const FIELD_VALUE = /^[\t -~\x80-\xff]*$/;
const LENGTH = /^\d{1,15}$/;

/**
 * Reads the head of a request or of an answer. The grammar is RFC 9112 without its tolerances (folded lines, bare line
 * feeds, blanks before the colon): each has been used to make two readers see different messages.
 *
 * @param parseFirst reads the first line, as soon as it is there
 * @param onWait called before the first waiting for bytes that are not here yet
 */
export function readHead<First, E>(
  reader: ByteReader,
  parseFirst: (line: string) => Result<First, E>,
  onWait: () => void,
): HeadResult<First, E> | Promise<HeadResult<First, E>> {
  const unfinished = new UnfinishedHead(parseFirst);
  const read = unfinished.read(reader);
  if (read !== undefined) return read;
  onWait();
  return readOn(unfinished, reader);
}

type HeadResult<First, E> = Result<MessageHead<First>, E | HeadError>;

async function readOn<First, E>(
  unfinished: UnfinishedHead<First, E>,
  reader: ByteReader,
): Promise<HeadResult<First, E>> {
  while (await reader.more()) {
    const read = unfinished.read(reader);
    if (read !== undefined) return read;
  }
  return err("ended");
}

/** A head of which some lines are not here yet. */
class UnfinishedHead<First, E> {
  readonly #parseFirst: (line: string) => Result<First, E>;
  readonly #headers: Header[] = [];
  #first: { readonly value: First } | undefined;
  #budget = MAX_HEAD_BYTES;

  constructor(parseFirst: (line: string) => Result<First, E>) {
    this.#parseFirst = parseFirst;
  }

  /** Reads the lines that are here; undefined when more are needed. */
  read(reader: ByteReader): HeadResult<First, E> | undefined {
    if (this.#first === undefined) reader.decodeHead(MAX_HEAD_BYTES);
    for (;;) {
      const line = reader.line(Math.max(this.#budget, 0));
      if (!line.ok) return line;
      if (line.value === undefined) return undefined;
      this.#budget -= line.value.length + 2;
      if (this.#first === undefined) {
        const parsed = this.#parseFirst(line.value);
        if (!parsed.ok) return parsed;
        this.#first = parsed;
        continue;
      }
      if (line.value === "") return ok({ first: this.#first.value, headers: this.#headers });
      if (this.#headers.length === MAX_HEADER_COUNT) return err("too-many");
      const header = parseHeader(line.value);
      if (!header.ok) return header;
      this.#headers.push(header.value);
    }
  }
}

/** One header line of a message, or of the fields after a chunked body. */
export function parseHeader(line: string): Result<Header, "malformed-name" | "malformed-value"> {
  const colon = line.indexOf(":");
  const name = line.slice(0, Math.max(colon, 0));
  if (!TOKEN.test(name)) return err("malformed-name");
  const value = line.slice(colon + 1);
  if (!FIELD_VALUE.test(value)) return err("malformed-value");
  return ok({ name, lower: name.toLowerCase(), value: trimBlanks(value) });
}

/** The values of all headers of a name (lower case), in order. */
export function valuesOf(headers: readonly Header[], name: string): string[] {
  const values: string[] = [];
  for (const header of headers) if (header.lower === name) values.push(header.value);
  return values;
}

const NO_OPTIONS: ReadonlySet<string> = new Set();

/** The options of the Connection header, in lower case: `close`, `keep-alive`, and names of headers for this hop only. */
export function connectionOptions(headers: readonly Header[]): ReadonlySet<string> {
  const values = valuesOf(headers, "connection");
  if (values.length === 0) return NO_OPTIONS;
  const options = values.flatMap((value) => value.split(","));
  return new Set(options.map((option) => trimBlanks(option).toLowerCase()));
}

/** Where a message's body ends. */
export type BodyFraming =
  | { readonly kind: "none" }
  | { readonly kind: "length"; readonly bytes: number }
  | { readonly kind: "chunked" };

/** Why it is not certain where a body ends. */
export type FramingError = "length-and-coding" | "unknown-coding" | "malformed-length";

/**
 * What the headers say of the body's end. A message with two lengths, or a length and a transfer coding, ends in one place
 * for one reader and elsewhere for another: the rest becomes a message that nobody sent. So nothing ambiguous passes, not
 * even two equal lengths.
 */
export function framingOf(headers: readonly Header[]): Result<BodyFraming, FramingError> {
  const lengths = valuesOf(headers, "content-length");
  const codings = valuesOf(headers, "transfer-encoding");
  if (codings.length > 0) {
    if (lengths.length > 0) return err("length-and-coding");
    if (codings.length > 1 || codings[0]?.toLowerCase() !== "chunked") return err("unknown-coding");
    return ok({ kind: "chunked" });
  }
  const [length] = lengths;
  if (length === undefined) return ok({ kind: "none" });
  if (lengths.length > 1 || !LENGTH.test(length)) return err("malformed-length");
  return ok({ kind: "length", bytes: Number(length) });
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
  const code = text.charCodeAt(index);
  return code === 0x20 || code === 0x09;
}
