import type { Ms } from "../../../base/clock.ts";
import { err, ok, type Result } from "../../../base/result.ts";
import { concat } from "../../../crypto/bytes.ts";

/** A BER element. `tag` is the whole identifier octet. */
export type Element =
  | { readonly tag: number; readonly children: readonly Element[] }
  | { readonly tag: number; readonly content: Uint8Array };

export const TAG = {
  INTEGER: 0x02,
  BIT_STRING: 0x03,
  OCTET_STRING: 0x04,
  NULL: 0x05,
  OBJECT_IDENTIFIER: 0x06,
  UTC_TIME: 0x17,
  GENERALIZED_TIME: 0x18,
  CONSTRUCTED_OCTET_STRING: 0x24,
  SEQUENCE: 0x30,
  SET: 0x31,
  /** `[0]` and `[1]` in their constructed form. */
  CONTEXT_0: 0xa0,
  CONTEXT_1: 0xa1,
} as const;

/** Maximum size of a message. A signed document has some 1.2 kB, and less than this with three certificates. */
export const MAX_BER_BYTES = 8 * 1024;

/** Each element becomes an object, so their number bounds the cost. A document or certificate has some 65. */
const MAX_ELEMENTS = 300;

/** Signed data nests about 12 levels deep. The limit protects the stack from crafted input. */
const MAX_DEPTH = 24;

const CONSTRUCTED = 0x20;
const CLASS_MASK = 0xc0;
const TAG_NUMBER_MASK = 0x1f;
const INDEFINITE = 0x80;

/**
 * Reads one BER element that fills `bytes`. Indefinite lengths and octet strings in segments are allowed, since the
 * cloud's signer writes them. Everything else must be DER: lengths in their shortest form, no tag above 30, no other
 * primitive type in constructed form.
 */
export function readBer(bytes: Uint8Array): Result<Element, string> {
  if (bytes.length > MAX_BER_BYTES) return err("encoding is too large");
  try {
    return ok(new Reader(bytes).whole());
  } catch (error) {
    if (error instanceof Malformed) return err(error.message);
    throw error;
  }
}

/** Encodes an element with definite lengths. The members of a SET keep their order. */
export function writeDer(element: Element): Uint8Array<ArrayBuffer> {
  const parts = "children" in element ? element.children.map(writeDer) : [element.content];
  const content = concat(...parts);
  return concat(Uint8Array.of(element.tag, ...encodeLength(content.length)), content);
}

function encodeLength(length: number): number[] {
  if (length < 0x80) return [length];
  const octets: number[] = [];
  for (let rest = length; rest > 0; rest >>>= 8) octets.unshift(rest & 0xff);
  return [0x80 | octets.length, ...octets];
}

/**
 * Ends the reading of an encoding. An exception to the rule that expected failures are values: the reader is recursive,
 * and every step would have to check for a failure. Only `readBer` catches it.
 */
class Malformed extends Error {}

class Reader {
  readonly #bytes: Uint8Array;
  #position = 0;
  #elements = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  whole(): Element {
    const element = this.#element(this.#bytes.length, 0);
    if (this.#position !== this.#bytes.length) throw new Malformed("data follows the encoded value");
    return element;
  }

  #element(end: number, depth: number): Element {
    if (depth > MAX_DEPTH) throw new Malformed("encoding nests too deep");
    if (++this.#elements > MAX_ELEMENTS) throw new Malformed("encoding has too many elements");
    const tag = this.#octet(end);
    if ((tag & TAG_NUMBER_MASK) === TAG_NUMBER_MASK) throw new Malformed("encoding has a tag that is too long");
    if (tag === 0) throw new Malformed("encoding has an end without a start");
    const constructed = (tag & CONSTRUCTED) !== 0;
    if (!formIsAllowed(tag, constructed)) throw new Malformed("encoding has a type in the wrong form");

    const length = this.#length(end);
    if (!constructed) {
      if (length === null) throw new Malformed("encoding has a primitive of unknown length");
      const content = this.#bytes.subarray(this.#position, this.#position + length);
      this.#position += length;
      return { tag, content };
    }
    const children = length === null ? this.#untilEnd(end, depth) : this.#upTo(this.#position + length, depth);
    return tag === TAG.CONSTRUCTED_OCTET_STRING ? joinSegments(children) : { tag, children };
  }

  #upTo(end: number, depth: number): Element[] {
    const children: Element[] = [];
    while (this.#position < end) children.push(this.#element(end, depth + 1));
    return children;
  }

  #untilEnd(end: number, depth: number): Element[] {
    const children: Element[] = [];
    while (this.#bytes[this.#position] !== 0 || this.#position >= end) children.push(this.#element(end, depth + 1));
    if (this.#position + 2 > end) throw new Malformed("encoding is truncated");
    if (this.#bytes[this.#position + 1] !== 0) throw new Malformed("encoding has a bad end marker");
    this.#position += 2;
    return children;
  }

  /** The length of the content; null for an indefinite one. */
  #length(end: number): number | null {
    const first = this.#octet(end);
    if (first === INDEFINITE) return null;
    let length = first;
    if (first > INDEFINITE) {
      const octets = first & 0x7f;
      if (octets > 3) throw new Malformed("encoding has a length that is too long");
      length = 0;
      for (let index = 0; index < octets; index++) {
        const octet = this.#octet(end);
        if (index === 0 && octet === 0) throw new Malformed("encoding has a length with a leading zero");
        length = length * 256 + octet;
      }
      if (length < 0x80) throw new Malformed("encoding has a length in a longer form than needed");
    }
    if (length > end - this.#position) throw new Malformed("encoding has a length beyond its data");
    return length;
  }

  #octet(end: number): number {
    const octet = this.#position < end ? this.#bytes[this.#position++] : undefined;
    if (octet === undefined) throw new Malformed("encoding is truncated");
    return octet;
  }
}

function joinSegments(segments: readonly Element[]): Element {
  const contents = segments.map((segment) => contentOf(segment, TAG.OCTET_STRING)).filter((part) => part !== null);
  if (contents.length < segments.length) throw new Malformed("encoding has a segment of another type");
  return { tag: TAG.OCTET_STRING, content: concat(...contents) };
}

/** Universal types have one form each, except octet strings. Other classes may have either form. */
function formIsAllowed(tag: number, constructed: boolean): boolean {
  if ((tag & CLASS_MASK) !== 0) return true;
  if (tag === TAG.CONSTRUCTED_OCTET_STRING) return true;
  const number = tag & TAG_NUMBER_MASK;
  const mustBeConstructed = number === (TAG.SEQUENCE & TAG_NUMBER_MASK) || number === (TAG.SET & TAG_NUMBER_MASK);
  return constructed === mustBeConstructed;
}

/** An AlgorithmIdentifier (RFC 5280 section 4.1.1.2). `parameters` are null when they are absent or NULL. */
export type AlgorithmIdentifier = { readonly oid: string; readonly parameters: Element | null };

/** Members of a constructed element with this tag; null for any other element, as in all functions below. */
export function membersOf(element: Element | undefined, tag: number): readonly Element[] | null {
  return element?.tag === tag && "children" in element ? element.children : null;
}

/** Content octets of a primitive element with this tag. */
export function contentOf(element: Element | undefined, tag: number): Uint8Array | null {
  return element?.tag === tag && "content" in element ? element.content : null;
}

/** Reads an OBJECT IDENTIFIER in its shortest form. Returns the dotted form. */
export function readOid(element: Element | undefined): string | null {
  const content = contentOf(element, TAG.OBJECT_IDENTIFIER);
  const last = content?.at(-1);
  if (!content || last === undefined || last >= 0x80) return null;
  const arcs: number[] = [];
  let arc = 0;
  for (const octet of content) {
    if ((arc === 0 && octet === 0x80) || arc > 0xffffff) return null;
    arc = arc * 128 + (octet & 0x7f);
    if (octet < 0x80) {
      arcs.push(arc);
      arc = 0;
    }
  }
  const [first = 0, ...rest] = arcs;
  const root = Math.min(2, Math.floor(first / 40));
  return [root, first - 40 * root, ...rest].join(".");
}

export function readAlgorithm(element: Element | undefined): AlgorithmIdentifier | null {
  const [type, parameters, ...more] = membersOf(element, TAG.SEQUENCE) ?? [];
  const oid = readOid(type);
  if (oid === null || more.length > 0) return null;
  if (parameters?.tag !== TAG.NULL) return { oid, parameters: parameters ?? null };
  return contentOf(parameters, TAG.NULL)?.length === 0 ? { oid, parameters: null } : null;
}

/** Reads an INTEGER from 0 to 127 in its shortest form. */
export function readSmallInteger(element: Element | undefined): number | null {
  const [value, ...more] = contentOf(element, TAG.INTEGER) ?? [];
  return value !== undefined && value < 0x80 && more.length === 0 ? value : null;
}

const DER_TIME = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/;

/** Reads UTCTime (until 2049) or GeneralizedTime in DER: seconds, no fraction, `Z`. */
export function readTime(element: Element | undefined): Ms | null {
  const [utc, generalized] = [contentOf(element, TAG.UTC_TIME), contentOf(element, TAG.GENERALIZED_TIME)];
  const text = String.fromCharCode(...(utc ?? generalized ?? []));
  const digits = utc ? `${Number(text.slice(0, 2)) < 50 ? "20" : "19"}${text}` : text;
  // Without this, a text that is already an ISO time would pass.
  if (!DER_TIME.test(digits)) return null;
  const iso = digits.replace(DER_TIME, "$1-$2-$3T$4:$5:$6.000Z");
  const time = Date.parse(iso);
  return Number.isNaN(time) || new Date(time).toISOString() !== iso ? null : time;
}
