import { withoutWhiteSpace } from "../../base/white-space.ts";
import { fromBase64, fromUtf8 } from "../../crypto/bytes.ts";
import { readJson } from "../../policy/json.ts";
import type { SyntaxValue } from "../../policy/syntax.ts";
import { jsonObjectOf } from "../../wire/json.ts";

/** Decodes padded base64 in its canonical form, or returns null. White space is allowed: tools print wrapped lines. */
export function fromWrappedBase64(text: string): Uint8Array<ArrayBuffer> | null {
  return fromBase64(withoutWhiteSpace(text));
}

/** Decodes base64 of UTF-8. Null when either encoding is malformed. */
export function fromBase64Text(text: string): string | null {
  const bytes = fromWrappedBase64(text);
  return bytes && fromUtf8(bytes);
}

/** True for a value that a message may repeat: it is short and plain, so it is neither a secret nor markup. */
export function isPlainWord(text: string): boolean {
  return /^[\w-]{0,32}$/.test(text);
}

/** Maximum depth of nesting. The values of this method are less deep. */
const MAX_DEPTH = 8;

/**
 * Parses a JSON object strictly. Parsers of JSON differ about repeated names (the first or the last counts) and some
 * ignore letter case, so a signed text could have two meanings. Null when any object in it has two names that are equal
 * or differ only in case, when the text is no object, and when it nests too deep.
 */
export function parseStrictObject(text: string): Readonly<Record<string, unknown>> | null {
  const read = readJson(text, MAX_DEPTH);
  return read.ok && hasUniqueNames(read.value) ? jsonObjectOf(text) : null;
}

/** A form of a name that is equal for all letter cases, also for long s and the Kelvin sign. */
export function foldCase(name: string): string {
  return name.toUpperCase().toLowerCase();
}

/** A repeated name is an entry of its own here. `JSON.parse` would keep only the last one. */
function hasUniqueNames(value: SyntaxValue): boolean {
  if (value.kind === "list") return value.items.every(hasUniqueNames);
  if (value.kind !== "object") return true;
  const names = new Set(value.entries.map(({ key }) => foldCase(key)));
  return names.size === value.entries.length && value.entries.every((entry) => hasUniqueNames(entry.value));
}
