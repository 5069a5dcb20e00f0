import * as z from "zod";
import { parseDuration } from "../base/duration.ts";
import { parseFlag } from "../base/flag.ts";
import { MAX_JSON_STRINGS } from "../base/limits.ts";
import { parseRfc3339 } from "../base/rfc3339.ts";
import type { Shape } from "./shape.ts";

/**
 * The field types of request bodies. Clients send the same value in several forms (a number as a string, a list as a comma
 * string); each type names the forms it takes and gives one. A null is the zero value of the type, whatever holds when
 * the field is absent; only for a duration it means that none was sent. Messages never hold the value: it may be a secret
 * that was sent in the wrong field.
 */
type Field<T> = z.ZodType<T, unknown>;

/** The fields of a request that has none. */
export const NO_FIELDS = z.object({});

/** What is known of the values of a field, for descriptions of the interface. */
interface FieldKind {
  /** What a client sends at best; other forms are taken too. */
  readonly shape: Shape;
  /** How a string or a number is to be read. */
  readonly format?: string;
  /** What holds when the field is absent, where that is not the zero value. */
  readonly otherwise?: boolean;
  /** There is a newer name for it. */
  readonly deprecated?: true;
}

/** Zod finds what was said of a field under its description too. Its types do not get through those of shapes. */
const KINDS = z.registry<{ readonly kind: object }>();

/** The reader of a field that is read without zod. It returns undefined for a value that it does not accept. */
export interface FieldReader {
  readonly read: (value: unknown) => unknown;
  /** What it takes. */
  readonly expected: string;
}

/** The readers by field. A registry, since zod keeps an entry when a field gets a description. */
const READERS = z.registry<FieldReader>();

/** The reader of a field that zod need not be asked about; undefined for one with checks of its own. */
export function readerOf(field: z.ZodType): FieldReader | undefined {
  return (field.def.checks ?? []).length === 0 ? READERS.get(field) : undefined;
}

/** Says what a field holds. What it reads stays as it is. */
export function ofKind<F extends z.ZodType>(field: F, kind: FieldKind): F {
  KINDS.add(field, { kind });
  return field;
}

/** What a field holds, or undefined where nobody said. */
export function kindOf(field: z.ZodType): FieldKind | undefined {
  return KINDS.get(field)?.kind as FieldKind | undefined;
}

function field<T>(kind: FieldKind, expected: string, read: (value: unknown) => T | undefined): Field<T> {
  const reader = z
    .unknown()
    .optional()
    .transform((value, context) => {
      const result = read(value);
      if (result !== undefined) return result;
      context.addIssue({ code: "custom", message: `expected ${expected}` });
      return z.NEVER;
    });
  const described = ofKind(reader, kind);
  READERS.add(described, { read, expected });
  return described;
}

/** Text; a number or a bool is taken as its text. */
export function text(): Field<string> {
  return field({ shape: "string" }, "a string", (value) => {
    if (value === undefined || value === null) return "";
    return isScalar(value) ? textOf(value) : undefined;
  });
}

/** Text where an empty one means something else than none. null when absent. */
export function optionalText(): Field<string | null> {
  return field({ shape: "string" }, "a string", (value) => {
    if (value === undefined) return null;
    if (value === null) return "";
    return isScalar(value) ? textOf(value) : undefined;
  });
}

/** true or false, also as a string or as 0 and 1. */
export function flag(otherwise: boolean): Field<boolean> {
  return field({ shape: "boolean", otherwise }, "a bool", (value) => {
    if (value === undefined) return otherwise;
    if (value === null) return false;
    if (typeof value === "boolean") return value;
    if (typeof value === "number") return value === 0 ? false : value === 1 ? true : undefined;
    if (typeof value !== "string") return undefined;
    return parseFlag(value) ?? undefined;
  });
}

/** A whole number of 32 bits, also as a string; 0 when absent. */
export function integer(): Field<number> {
  return field({ shape: "integer" }, "an int", readInteger);
}

/** A whole number of up to 15 digits, also as a string. */
export function count(): Field<number> {
  return field({ shape: "integer" }, "an int", (value) => {
    if (value === null) return 0;
    const number = typeof value === "string" && /^\d{1,15}$/.test(value) ? Number(value) : value;
    return Number.isSafeInteger(number) && (number as number) >= 0 ? (number as number) : undefined;
  });
}

/** A number, also as text; 0 when absent. */
export function decimal(): Field<number> {
  return field({ shape: "number" }, "a number", (value) => {
    if (value === undefined || value === null) return 0;
    const number = typeof value === "string" && /^[+-]?\d{1,15}(?:\.\d{1,15})?$/.test(value) ? Number(value) : value;
    return Number.isFinite(number) ? (number as number) : undefined;
  });
}

/** Entries of a page: a whole number, 0 or `max` for as many as there may be. */
export function pageSize(): Field<number> {
  return field({ shape: "integer" }, 'an int or "max"', (value) => (value === "max" ? 0 : readInteger(value)));
}

function readInteger(value: unknown): number | undefined {
  if (value === undefined || value === null || value === "") return 0;
  const number = typeof value === "string" && /^[+-]?\d{1,11}$/.test(value) ? Number(value) : value;
  return Number.isInteger(number) && Math.abs(number as number) < 2 ** 31 ? (number as number) : undefined;
}

/** A moment in ms: RFC 3339, or seconds since 1970. undefined when absent or empty. */
export function time(): Field<number | undefined> {
  return optional(
    field({ shape: "string", format: "date-time" }, "a time as RFC 3339 or in seconds since 1970", (value) => {
      if (typeof value !== "string" && typeof value !== "number") return undefined;
      const seconds = /^\d{1,11}(\.\d{1,9})?$/.test(String(value)) ? Number(value) : null;
      return seconds === null ? (parseRfc3339(String(value)) ?? undefined) : Math.floor(seconds * 1000);
    }),
    (value) => value === undefined || value === null || value === "",
  );
}

/** A list of strings; a single string is a list of one and is not split at commas. null when absent or empty. */
export function textList(): Field<string[] | null> {
  return field({ shape: ["string"] }, "a list of strings", (value) => {
    if (value === undefined || value === null || value === "") return null;
    const list = Array.isArray(value) ? value : [value];
    if (list.length === 0) return null;
    return list.every(isScalar) ? list.map((item) => textOf(item).trim()) : undefined;
  });
}

/** A list of strings as an array or with commas between; items are trimmed. null when absent, [] when empty. */
export function commaList(): Field<string[] | null> {
  return field({ shape: ["string"] }, `a list of at most ${MAX_JSON_STRINGS} strings`, (value) => {
    if (value === undefined) return null;
    if (value === null) return [];
    // One item more than is allowed is enough: a string of commas must not become a list of half a million items.
    const list =
      typeof value === "string" ? value.split(",", MAX_JSON_STRINGS + 1) : Array.isArray(value) ? value : [value];
    if (list.length > MAX_JSON_STRINGS || !list.every(isScalar)) return undefined;
    return list.map((item) => textOf(item).trim()).filter((item) => item !== "");
  });
}

/** A list of strings, as an array or with commas between. null and "" are the empty list. */
export function list(): Field<string[]> {
  return ofKind(
    commaList().transform((items) => items ?? []),
    { shape: ["string"] },
  );
}

/** Text values by name: an object, or `k=v` items. null when absent. */
export function pairs(): Field<Record<string, string> | null> {
  return field({ shape: { "*": "string" }, format: "kvpairs" }, "an object of strings", (value) => {
    if (value === undefined || value === null) return null;
    if (typeof value === "object" && !Array.isArray(value)) {
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

/** A duration in seconds, in any form that clients write; 0 when absent. May be negative: the rules check that. */
export function duration(): Field<number> {
  return field({ shape: "integer", format: "seconds" }, A_DURATION, readDuration);
}

/** A duration of the fields that are older than their type: a bool is taken as 0 or 1 there. */
export function looseDuration(): Field<number> {
  return field({ shape: "string", format: "duration" }, A_DURATION, (value) =>
    readDuration(typeof value === "boolean" ? Number(value) : value),
  );
}

/** A duration that a write may leave out: undefined when it is absent or null. May be negative. */
export function sentDuration(): Field<number | undefined> {
  return optional(duration(), (value) => value === undefined || value === null);
}

const A_DURATION = 'a duration such as 90, "30s" or "1h30m"';

function readDuration(value: unknown): number | undefined {
  if (value === undefined || value === null) return 0;
  if (typeof value !== "string" && typeof value !== "number") return undefined;
  const parsed = parseDuration(String(value));
  return parsed.ok ? parsed.value : undefined;
}

/** A field that has a newer name. */
export function deprecated<F extends z.ZodType>(field: F): F {
  return ofKind(field, { shape: "any", ...kindOf(field), deprecated: true });
}

/** A field that is not parsed here: the endpoint reads it, if it is read at all. */
export function unread(shape: Shape): z.ZodType<unknown, unknown> {
  return ofKind(z.unknown().optional(), { shape });
}

/** A field that a write may leave out: undefined then, and what is stored stays. A null counts as sent. */
export function sent<T>(inner: Field<T>): Field<T | undefined> {
  return optional(inner, (value) => value === undefined);
}

function optional<T>(inner: Field<T>, isAbsent: (value: unknown) => boolean): Field<T | undefined> {
  const reader = z
    .unknown()
    .optional()
    .transform((value, context) => {
      if (isAbsent(value)) return undefined;
      const parsed = inner.safeParse(value);
      if (parsed.success) return parsed.data;
      context.addIssue({ code: "custom", message: parsed.error.issues[0]?.message ?? "invalid" });
      return z.NEVER;
    });
  const kind = kindOf(inner);
  if (!kind) return reader;
  // Absent, the field changes nothing: there is no default to tell of.
  const { otherwise: _, ...rest } = kind;
  return ofKind(reader, rest);
}

/** The fields of one endpoint. */
export type FieldSchema<T> = z.ZodType<T, unknown> & { readonly shape: Record<string, unknown> };

/** For endpoints that keep whatever is sent. */
export const ANY_FIELDS: FieldSchema<Record<string, unknown>> = z.looseObject({});

function isScalar(value: unknown): value is string | number | boolean {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean";
}

/** A bool is 1 or 0 as a string, as the interface has always written it. */
function textOf(value: string | number | boolean): string {
  return typeof value === "boolean" ? (value ? "1" : "0") : String(value);
}
