import { MAX_JSON_DEPTH, MAX_JSON_STRINGS, MAX_JSON_VALUES } from "../base/limits.ts";
import { err, ok, type Result } from "../base/result.ts";
import { readJson } from "../policy/json.ts";
import { locate } from "../policy/syntax.ts";
import { isObject } from "./fields.ts";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** An escape of a surrogate, half of a character beyond U+FFFF. */
const SURROGATE = /\\u[dD][89a-fA-F]/;

/** A number above 2^53 has at least this many digits in a row, or an exponent. */
const LONG_DIGITS = 16;
const WHOLE_NUMBER = /^-?\d+$/;

/**
 * Parses a JSON object from a body. The text is scanned before parsing, so that a small body can't become a deep or
 * wide structure (the JSON denial of service of the reference servers). `{}` for an empty body and for `null`, which Go
 * clients send without data. A message does not repeat the body.
 */
export function parseJsonObject(text: string): Result<Record<string, unknown>, string> {
  if (text.trim() === "") return ok({});
  const scanned = scan(text, OF_BODY);
  if (!scanned.ok) return err(`refused JSON input due to high complexity: ${scanned.error}`);
  let value: unknown;
  let isExact = true;
  const watch = (_key: string, value: unknown, context?: { readonly source?: string }) => {
    if (typeof value === "number") isExact &&= isKept(context?.source ?? String(value));
    return value;
  };
  try {
    // Most bodies contain no large number and are parsed without a callback.
    value = JSON.parse(text, scanned.value ? watch : undefined);
  } catch {
    return err(`failed to decode JSON input: not valid JSON (${jsonMistakePlace(text)})`);
  }
  if (!isExact) {
    return err("failed to decode JSON input: a number is too large to be kept as it is; send it as a string");
  }
  if (!hasWholeCharacters(text, value)) {
    return err("failed to decode JSON input: half of a surrogate pair (\\ud800 to \\udfff) is no character");
  }
  if (value === null) return ok({});
  return isObject(value) ? ok(value) : err("failed to decode JSON input: the body must be a JSON object");
}

/**
 * Parses a JSON object from a text of bounded length, such as the answer of a service or the claims of a token; null for
 * anything else, for one that is nested more deeply than a body may be, as no call could pass it on, and for one with
 * half of a surrogate pair.
 */
export function jsonObjectOf(text: string): Record<string, unknown> | null {
  if (!scan(text, UNCOUNTED).ok) return null;
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) && hasWholeCharacters(text, value) ? value : null;
  } catch {
    return null;
  }
}

/**
 * False when a name or a text in `value`, parsed from `text`, has half of a surrogate pair. UTF-8 has no form of it:
 * when it is stored or sent, it becomes U+FFFD. Two names would become one, and a seal over a text would not hold.
 */
function hasWholeCharacters(text: string, value: unknown): boolean {
  return !SURROGATE.test(text) || isWellFormed(value);
}

function isWellFormed(value: unknown): boolean {
  if (typeof value === "string") return value.isWellFormed();
  if (Array.isArray(value)) return value.every(isWellFormed);
  return !isObject(value) || Object.entries(value).every(([name, one]) => name.isWellFormed() && isWellFormed(one));
}

/** False for a number that `JSON.parse` changes: out of range, or an integer with too many digits. */
function isKept(source: string): boolean {
  const number = Number(source);
  if (!Number.isFinite(number)) return false;
  if (Number.isSafeInteger(number) || !WHOLE_NUMBER.test(source)) return true;
  const [digits = "", exponent = ""] = number.toExponential().split("e");
  return digits.replace(".", "").padEnd(Number(exponent) + (number < 0 ? 2 : 1), "0") === source;
}

interface JsonCounts {
  readonly strings: number;
  readonly values: number;
}

const OF_BODY: JsonCounts = { strings: MAX_JSON_STRINGS, values: MAX_JSON_VALUES };
const UNCOUNTED: JsonCounts = { strings: Number.POSITIVE_INFINITY, values: Number.POSITIVE_INFINITY };

/** Checks the limits on nesting, strings and values. True when the text may contain a large number. */
function scan(text: string, most: JsonCounts): Result<boolean, string> {
  let depth = 0;
  let strings = 0;
  let values = 0;
  let digits = 0;
  let mayHaveLargeNumber = false;
  for (let i = 0; i < text.length; i++) {
    const char = text.charCodeAt(i);
    if (char >= 0x30 && char <= 0x39) {
      if (++digits === LONG_DIGITS) mayHaveLargeNumber = true;
      continue;
    }
    if (digits > 0 && (char === 0x45 || char === 0x65)) mayHaveLargeNumber = true;
    digits = 0;
    if (char === QUOTE) {
      if (++strings > most.strings) return err("exceeded maximum number of strings");
      i++;
      while (i < text.length && text.charCodeAt(i) !== QUOTE) i += text.charCodeAt(i) === BACKSLASH ? 2 : 1;
    } else if (char === 0x7b || char === 0x5b) {
      if (++depth > MAX_JSON_DEPTH) return err("exceeded maximum nesting");
      values++;
    } else if (char === 0x7d || char === 0x5d) {
      depth--;
    } else if (char === 0x2c) {
      values++;
    }
    if (values > most.values) return err("exceeded maximum number of values");
  }
  return ok(mayHaveLargeNumber);
}

/**
 * Returns the position of the first syntax error, as `line 1, column 14`; null without an error. The messages of
 * `JSON.parse` often repeat the input. Called only for a text of bounded depth that `JSON.parse` refused.
 */
export function jsonMistakePlace(text: string): string | null {
  const read = readJson(text, MAX_JSON_DEPTH);
  if (read.ok) return null;
  const { line, column } = locate(text, read.error);
  const place = `line ${line}, column ${column}`;
  return read.error.at === text.length ? `${place}, where the text ends` : place;
}
