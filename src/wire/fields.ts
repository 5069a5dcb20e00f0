import { parseFlag } from "../base/boolean.ts";
import { type Ms, parseRfc3339, type Seconds } from "../base/clock.ts";
import { parseDuration } from "../base/duration.ts";
import { MAX_JSON_STRINGS } from "../base/limits.ts";
import { err, ok, type Result } from "../base/result.ts";
import { withoutWhiteSpace } from "../base/white-space.ts";
import type { Shape } from "./view.ts";

/** The values of a field, for descriptions of the interface. */
export interface FieldKind {
  /** The preferred form of a value. Other forms are accepted as well. */
  readonly shape: Shape;
  readonly format?: string;
  /** Value of an absent field, if it is not the zero value. */
  readonly otherwise?: boolean;
  readonly deprecated?: true;
}

/**
 * A field of a request: its reader and its description. Clients send a value in several forms (a number as a string, a
 * list as a string with commas). Messages never contain the value: it can be a secret in the wrong field.
 */
export class Field<T> {
  /** Reads a value; undefined for an absent field, null where null is a value. The error is a phrase about the value. */
  readonly read: (value: unknown) => Result<T, string>;
  readonly kind: FieldKind;
  readonly description: string;

  constructor(kind: FieldKind, read: (value: unknown) => Result<T, string>, description = "") {
    this.kind = kind;
    this.read = read;
    this.description = description;
  }

  describe(description: string): Field<T> {
    return new Field(this.kind, this.read, description);
  }
}

function field<T>(kind: FieldKind, expected: string, read: (value: unknown) => T | undefined): Field<T> {
  return new Field(kind, (value) => {
    const result = read(value);
    return result === undefined ? err(`expected ${expected}`) : ok(result);
  });
}

/** A string. A number or a bool is converted. */
export function text(): Field<string> {
  return field({ shape: "string" }, "a string", (value) => {
    if (value === undefined) return "";
    return isScalar(value) ? textOf(value) : undefined;
  });
}

/** A token, a key or a document in base64 that people paste: a string without its white space. */
export function pasted(): Field<string> {
  const { kind, read } = text();
  return new Field(kind, (value) => {
    const sentText = read(value);
    return sentText.ok ? ok(withoutWhiteSpace(sentText.value)) : sentText;
  });
}

/** A bool, also as a string or as 0 or 1. */
export function flag(otherwise: boolean): Field<boolean> {
  return field({ shape: "boolean", otherwise }, "a bool", (value) => {
    if (value === undefined) return otherwise;
    if (typeof value === "boolean") return value;
    if (typeof value === "number") return value === 0 ? false : value === 1 ? true : undefined;
    if (typeof value !== "string") return undefined;
    return parseFlag(value) ?? undefined;
  });
}

/** An integer of 32 bits, also as a string; 0 when absent. */
export function integer(): Field<number> {
  return field({ shape: "integer" }, "an int", readInteger);
}

/** A non-negative integer of up to 15 digits, also as a string. Required. */
export function count(): Field<number> {
  return field({ shape: "integer" }, "an int", (value) => {
    const number = typeof value === "string" && /^\d{1,15}$/.test(value) ? Number(value) : value;
    return typeof number === "number" && Number.isSafeInteger(number) && number >= 0 ? number : undefined;
  });
}

/** A number, also as a string; 0 when absent. */
export function decimal(): Field<number> {
  return field({ shape: "number" }, "a number", (value) => {
    if (value === undefined) return 0;
    const number = typeof value === "string" && /^[+-]?\d{1,15}(?:\.\d{1,15})?$/.test(value) ? Number(value) : value;
    return typeof number === "number" && Number.isFinite(number) ? number : undefined;
  });
}

/** The size of a page: an integer; 0 or `max` for the maximum. */
export function pageSize(): Field<number> {
  return field({ shape: "integer" }, 'an int or "max"', (value) => (value === "max" ? 0 : readInteger(value)));
}

function readInteger(value: unknown): number | undefined {
  if (value === undefined || value === "") return 0;
  const number = typeof value === "string" && /^[+-]?\d{1,11}$/.test(value) ? Number(value) : value;
  return typeof number === "number" && Number.isInteger(number) && Math.abs(number) < 2 ** 31 ? number : undefined;
}

/** A time, sent as RFC 3339 or in seconds since 1970; undefined when absent or empty. */
export function time(): Field<Ms | undefined> {
  return optional(
    field({ shape: "string", format: "date-time" }, "a time as RFC 3339 or in seconds since 1970", (value) => {
      if (typeof value !== "string" && typeof value !== "number") return undefined;
      const seconds = /^\d{1,11}(\.\d{1,9})?$/.test(String(value)) ? Number(value) : null;
      return seconds === null ? (parseRfc3339(String(value)) ?? undefined) : Math.floor(seconds * 1000);
    }),
    (value) => value === undefined || value === "",
  );
}

/** A list of strings; null when absent or empty. A single string is a list of one, and is not split at commas. */
export function textList(): Field<string[] | null> {
  return field({ shape: ["string"] }, "a list of strings", (value) => {
    if (value === undefined || value === "") return null;
    const list = Array.isArray(value) ? value : [value];
    if (list.length === 0) return null;
    return list.every(isScalar) ? list.map((item) => textOf(item).trim()) : undefined;
  });
}

/** A list of strings, as an array or separated by commas; [] when absent. Items are trimmed. */
export function list(): Field<string[]> {
  return field({ shape: ["string"] }, `a list of at most ${MAX_JSON_STRINGS} strings`, (value) => {
    if (value === undefined) return [];
    // Without the limit, a string of commas would become a list of half a million items.
    const list =
      typeof value === "string" ? value.split(",", MAX_JSON_STRINGS + 1) : Array.isArray(value) ? value : [value];
    if (list.length > MAX_JSON_STRINGS || !list.every(isScalar)) return undefined;
    return list.map((item) => textOf(item).trim()).filter((item) => item !== "");
  });
}

/** Strings by name, as an object or as `name=value` items; null when absent. */
export function pairs(): Field<Record<string, string> | null> {
  return field({ shape: { "*": "string" }, format: "kvpairs" }, "an object of strings", (value) => {
    if (value === undefined) return null;
    if (typeof value === "object" && value !== null && !Array.isArray(value)) {
      const entries = Object.entries(value);
      if (!entries.every(([, item]) => isScalar(item) || item === null)) return undefined;
      return Object.fromEntries(entries.map(([name, item]) => [name, item === null ? "" : textOf(item)]));
    }
    const items = Array.isArray(value) ? value : [value];
    const split = items.map((item) => (typeof item === "string" ? /^([^=]+)=(.*)$/s.exec(item) : null));
    if (!split.every((match) => match !== null)) return undefined;
    return Object.fromEntries(split.map((match) => [(match[1] ?? "").trim(), (match[2] ?? "").trim()]));
  });
}

/** A duration, in any form that clients send; 0 when absent. Can be negative: the rules check that. */
export function duration(): Field<Seconds> {
  return field({ shape: "integer", format: "seconds" }, A_DURATION, readDuration);
}

/** A duration of the reference's older fields, which accept a bool as 0 or 1. */
export function looseDuration(): Field<Seconds> {
  return field({ shape: "string", format: "duration" }, A_DURATION, (value) =>
    readDuration(typeof value === "boolean" ? Number(value) : value),
  );
}

const A_DURATION = 'a duration such as 90, "30s" or "1h30m"';

function readDuration(value: unknown): number | undefined {
  if (value === undefined) return 0;
  if (typeof value !== "string" && typeof value !== "number") return undefined;
  const parsed = parseDuration(String(value));
  return parsed.ok ? parsed.value : undefined;
}

/** An object with any values; undefined when absent. */
export function anyObject(): Field<Record<string, unknown> | undefined> {
  return sent(field({ shape: "object" }, "an object", (value) => (isObject(value) ? value : undefined)));
}

/** Marks a field that has a newer name. */
export function deprecated<T>({ kind, read, description }: Field<T>): Field<T> {
  return new Field({ ...kind, deprecated: true }, read, description);
}

/** A field that the schema does not parse. The endpoint may read it. */
export function unread(shape: Shape): Field<unknown> {
  return new Field({ shape }, ok);
}

/** An optional field of a write; undefined when absent, which keeps the stored value. */
export function sent<T>(inner: Field<T>): Field<T | undefined> {
  return optional(inner, (value) => value === undefined);
}

function optional<T>({ kind, read, description }: Field<T>, isAbsent: (value: unknown) => boolean) {
  // An optional field has no default to describe.
  const { otherwise: _, ...rest } = kind;
  return new Field<T | undefined>(rest, (value) => (isAbsent(value) ? ok(undefined) : read(value)), description);
}

/** Returns JSON values without the undefined ones. */
export function onlySent<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return JSON.parse(JSON.stringify(fields));
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isScalar(value: unknown): value is string | number | boolean {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean";
}

/** A bool is "1" or "0", as in the reference. */
function textOf(value: string | number | boolean): string {
  return typeof value === "boolean" ? (value ? "1" : "0") : String(value);
}
