import { err, ok, type Result } from "../../../base/result.ts";
import { fromBase64Text, parseStrictObject } from "../encoding.ts";

/** Headers of a signed request: each name, in lower case, with its values. */
export type HeaderValues = ReadonlyMap<string, readonly string[]>;

/** Bounds of a request that a client signs; session tokens are the long values, some 2 kB each. */
const MAX_TEXT_LENGTH = 16 * 1024;
const MAX_HEADERS = 32;
const MAX_VALUES = 8;
const MAX_VALUE_LENGTH = 8 * 1024;

const NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$/;
const VALUE = /^[\x20-\x7e\t]*$/;

/**
 * Reads `iam_request_headers`: a JSON object, or such an object as JSON text or as base64 of JSON text. A value is a
 * text, a number or a list of these. A header whose name stands twice, in whatever casing, is refused.
 */
export function readHeaderValues(input: unknown): Result<HeaderValues, string> {
  const object = typeof input === "string" ? parseText(input) : input;
  if (typeof object !== "object" || object === null || Array.isArray(object)) {
    return err("iam_request_headers is neither a JSON object nor base64 of one");
  }
  const headers = new Map<string, readonly string[]>();
  for (const [name, value] of Object.entries(object)) {
    const key = name.toLowerCase();
    const values = readValues(value);
    if (!NAME.test(name) || values === null) return err("iam_request_headers has a malformed header");
    if (headers.has(key)) return err("iam_request_headers has a header twice");
    headers.set(key, values);
    if (headers.size > MAX_HEADERS) return err("iam_request_headers has too many headers");
  }
  return ok(headers);
}

function parseText(text: string): unknown {
  if (text.length > MAX_TEXT_LENGTH) return null;
  const json = text.trimStart().startsWith("{") ? text : fromBase64Text(text);
  return json === null ? null : parseStrictObject(json);
}

function readValues(value: unknown): readonly string[] | null {
  const list: unknown[] = Array.isArray(value) ? value : [value];
  if (list.length === 0 || list.length > MAX_VALUES) return null;
  const values: string[] = [];
  for (const item of list) {
    const text = typeof item === "number" ? String(item) : item;
    if (typeof text !== "string" || text.length > MAX_VALUE_LENGTH || !VALUE.test(text)) return null;
    values.push(text.trim());
  }
  return values;
}
