import { type Element, TAG } from "./ber.ts";

/** An AlgorithmIdentifier (RFC 5280 section 4.1.1.2). */
export interface AlgorithmIdentifier {
  /** In dotted form. */
  readonly oid: string;
  /** null without any, or when they are NULL. */
  readonly parameters: Element | null;
}

/** The members of a constructed element with this tag; null for any other element. */
export function membersOf(element: Element | undefined, tag: number): readonly Element[] | null {
  return element?.tag === tag && "children" in element ? element.children : null;
}

/** The content octets of a primitive element with this tag; null for any other element. */
export function contentOf(element: Element | undefined, tag: number): Uint8Array | null {
  return element?.tag === tag && "content" in element ? element.content : null;
}

/** An OBJECT IDENTIFIER in dotted form; null for any other element, and for one that is not in its shortest form. */
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

/** An AlgorithmIdentifier; null for any other element. */
export function readAlgorithm(element: Element | undefined): AlgorithmIdentifier | null {
  const [type, parameters, ...more] = membersOf(element, TAG.SEQUENCE) ?? [];
  const oid = readOid(type);
  if (oid === null || more.length > 0) return null;
  if (parameters?.tag !== TAG.NULL) return { oid, parameters: parameters ?? null };
  return contentOf(parameters, TAG.NULL)?.length === 0 ? { oid, parameters: null } : null;
}

/** The value of an INTEGER from 0 to 127; null for any other element, and for one that is not in its shortest form. */
export function readSmallInteger(element: Element | undefined): number | null {
  const [value, ...more] = contentOf(element, TAG.INTEGER) ?? [];
  return value !== undefined && value < 0x80 && more.length === 0 ? value : null;
}

const DER_TIME = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/;

/** UTCTime until 2049 and GeneralizedTime after it, both in DER's only form: seconds, no fraction, `Z`. Result in ms. */
export function readTime(element: Element | undefined): number | null {
  const [utc, generalized] = [contentOf(element, TAG.UTC_TIME), contentOf(element, TAG.GENERALIZED_TIME)];
  const text = String.fromCharCode(...(utc ?? generalized ?? []));
  const digits = utc ? `${Number(text.slice(0, 2)) < 50 ? "20" : "19"}${text}` : text;
  // A text that is an ISO time already is none of DER's.
  if (!DER_TIME.test(digits)) return null;
  const iso = digits.replace(DER_TIME, "$1-$2-$3T$4:$5:$6.000Z");
  const time = Date.parse(iso);
  return Number.isNaN(time) || new Date(time).toISOString() !== iso ? null : time;
}
