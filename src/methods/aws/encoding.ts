import { fromBase64, fromUtf8 } from "../../crypto/bytes.ts";
import { readJson } from "../../policy/json.ts";
import type { SyntaxValue } from "../../policy/syntax.ts";
import { jsonObjectOf } from "../../wire/json.ts";

/**
 * Bytes of padded base64, or null. Line breaks are allowed, since the tools that print these values wrap lines; any
 * other second spelling of the same bytes is not read.
 */
export function fromWrappedBase64(text: string): Uint8Array<ArrayBuffer> | null {
  return fromBase64(text.replace(/[\r\n]/g, ""));
}

/** Text of base64 of UTF-8, or null when either layer is malformed. */
export function fromBase64Text(text: string): string | null {
  const bytes = fromWrappedBase64(text);
  return bytes && fromUtf8(bytes);
}

/** A value that may be named back in a message: short and plain, so that no secret and no markup travels with it. */
export function isPlainWord(text: string): boolean {
  return /^[\w-]{0,32}$/.test(text);
}

/** A JSON object whose names are unique, also when letter case is ignored. */
export type JsonObject = { readonly [name: string]: unknown };

/** Deepest nesting that is read; the values of this method nest less deep. */
const MAX_DEPTH = 8;

/**
 * Parses a JSON object strictly. Readers of JSON disagree about repeated names (first or last wins) and some ignore
 * letter case, so one signed text could mean two things: an object at any depth in which two names are equal, or differ
 * only in case, is null. So is everything that is not an object, and deep nesting.
 */
export function parseStrictObject(text: string): JsonObject | null {
  const read = readJson(text, MAX_DEPTH);
  return read.ok && hasUniqueNames(read.value) ? jsonObjectOf(text) : null;
}

/** A form of a name that is equal for all letter cases, those of long s and the Kelvin sign included. */
export function foldCase(name: string): string {
  return name.toUpperCase().toLowerCase();
}

/** A name that stands twice is kept twice by this reader, and once by `JSON.parse`. */
function hasUniqueNames(value: SyntaxValue): boolean {
  if (value.kind === "list") return value.items.every(hasUniqueNames);
  if (value.kind !== "object") return true;
  const names = new Set(value.entries.map(({ key }) => foldCase(key)));
  return names.size === value.entries.length && value.entries.every((entry) => hasUniqueNames(entry.value));
}
