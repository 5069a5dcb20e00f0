import { parseFlag } from "../base/boolean.ts";
import type { Seconds } from "../base/clock.ts";
import { parseDuration } from "../base/duration.ts";
import type { ParameterRule, ParameterValue } from "./rule.ts";

/** Names (lower case, `*` for every name) and their values; an empty list means any value. */
export type ParameterMap = ReadonlyMap<string, readonly ParameterValue[]>;

/** Maximum number of list items that are compared with the values of a rule. No field takes more: a longer list is refused. */
const MAX_ITEMS = 1000;

/** The limits of the merged rules of one path on the fields of a request. */
export interface ParameterLimits {
  /** null, as for `denied`: no rule has such a list. */
  readonly allowed: ParameterMap | null;
  readonly denied: ParameterMap | null;
  /** Lower case. */
  readonly required: readonly string[];
}

/** A parameter that is required and missing, denied, or not allowed. `name` is `*` when every parameter is denied. */
export interface ParameterRefusal {
  readonly kind: "parameter";
  readonly problem: "required" | "denied" | "not_allowed";
  readonly name: string;
}

/**
 * Merges parameter lists of rules of the same path, the older lists first. The values of a name in several lists are
 * joined, newer first. An empty list, which means any value, overrides the others.
 */
export function mergeParameters(lists: readonly (readonly ParameterRule[])[]): ParameterMap {
  const byName = Map.groupBy(lists.flat(), ({ name }) => name);
  return new Map([...byName].map(([name, rules]) => [name, joinedValues(rules)]));
}

function joinedValues(rules: readonly ParameterRule[]): readonly ParameterValue[] {
  if (rules.some(({ values }) => values.length === 0)) return [];
  return rules.toReversed().flatMap(({ values }) => values);
}

/** Reason why `limits` refuse a request with these fields, or null. Denied fields are checked before allowed ones. */
export function parameterRefusal(
  limits: ParameterLimits,
  data: Readonly<Record<string, unknown>>,
): ParameterRefusal | null {
  const absent = limits.required.find((name) => !Object.hasOwn(data, name));
  if (absent !== undefined) return { kind: "parameter", problem: "required", name: absent };
  const fields = Object.entries(data);
  if (fields.length === 0) return null;
  const { allowed, denied } = limits;
  if (denied && denied.size > 0) {
    if (denied.has("*")) return { kind: "parameter", problem: "denied", name: "*" };
    for (const [name, value] of fields) {
      const values = denied.get(name.toLowerCase());
      if (values && meansDenied(value, values)) return { kind: "parameter", problem: "denied", name };
    }
  }
  if (!allowed || allowed.size === 0) return null;
  const anyName = allowed.has("*");
  if (anyName && allowed.size === 1) return null;
  const other = fields.find(([name, value]) => {
    const values = allowed.get(name.toLowerCase());
    return values === undefined ? !anyName : !meansAllowed(value, values);
  });
  return other ? { kind: "parameter", problem: "not_allowed", name: other[0] } : null;
}

/**
 * True when one of the values in the policy is the field's `value`, or when `value` is a list, not empty, and each of
 * its items is one of them. Items that are lists or objects match only as a part of the whole.
 */
function meansAllowed(value: unknown, allowed: readonly ParameterValue[]): boolean {
  if (listed(value, allowed)) return true;
  if (!Array.isArray(value) || value.length === 0 || value.length > MAX_ITEMS) return false;
  return value.every((item) => (isScalar(item) || item === null) && listed(item, allowed));
}

function listed(value: unknown, values: readonly ParameterValue[]): boolean {
  return values.length === 0 || values.some((pattern) => valueMatches(pattern, value));
}

/**
 * True when a field's `value` matches a value in the policy. Types must be equal: the string "1" does not match the
 * number 1. The number 1 of a policy matches the number 1 of a JSON body, so that a denied number is refused. Two
 * strings match by a leading or trailing `*` in a pattern of two or more characters; a single `*` is literal.
 */
function valueMatches(pattern: ParameterValue, value: unknown): boolean {
  if (typeof pattern === "string") return typeof value === "string" && textMatches(pattern, value);
  return sameValue(pattern, value);
}

/**
 * True when some type of field could read `value` as one of the `denied` values. Fields accept one value in many
 * spellings: a list as text with commas, pairs as `name=value`, a flag as `"1"`, a duration in seconds, a name in any
 * case, and null for the zero value. A denied value is denied in every spelling and for every type of field, so that
 * another spelling does not evade the rule. So a rule may deny more than its author wrote. Allowed values are compared
 * by `meansAllowed`.
 */
function meansDenied(value: unknown, denied: readonly ParameterValue[]): boolean {
  if (listed(value, denied)) return true;
  const items = itemsOf(value);
  if (items.length > MAX_ITEMS) return true;
  const parts = items.map(readingOf);
  // A text is also compared as a whole. A value without items is compared as the zero value.
  const whole = typeof value === "string" || parts.length === 0 ? [readingOf(value)] : [];
  return denied.some((pattern) => {
    if (typeof pattern !== "object" || pattern === null) {
      const reading = readingOf(pattern);
      return [...whole, ...parts].some((item) => mayMean(reading, item));
    }
    const wanted = itemsOf(pattern).map(readingOf);
    return sameItems(wanted, parts) || (whole.length > 0 && sameItems(wanted, whole));
  });
}

/** The readings of a value by the types of fields that take a scalar. */
interface Reading {
  readonly value: unknown;
  /** Lower case. "" for null and an empty list, the zero value of every field; null for a value that is not scalar. */
  readonly text: string | null;
  readonly flag: boolean | null;
  /** A number, or the seconds of a duration. */
  readonly seconds: Seconds | null;
}

function readingOf(value: unknown): Reading {
  const isNothing = value === null || (Array.isArray(value) && value.length === 0);
  const text = isNothing ? "" : isScalar(value) ? String(value).trim().toLowerCase() : null;
  if (text === null) return { value, text, flag: null, seconds: null };
  const duration = parseDuration(text);
  const seconds = duration.ok ? duration.value : DECIMAL.test(text) ? Number(text) : null;
  return { value, text, flag: parseFlag(text), seconds };
}

const DECIMAL = /^[+-]?\d{1,15}(?:\.\d{1,15})?$/;

function isScalar(value: unknown): value is string | number | boolean {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean";
}

/** The items of a value as list fields read it: items of an array, pairs of an object, parts of a text with commas. */
function itemsOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value.map(asPair);
  if (typeof value === "string") return value.split(",", MAX_ITEMS + 1).map(asPair);
  if (typeof value !== "object") return [value];
  return Object.entries(value ?? {}).map(([name, item]) => pairOf(name, item));
}

/** Normalises a pair as fields do: removes blanks around its name and its value. */
function asPair(item: unknown): unknown {
  const [, name, value] = typeof item === "string" ? (/^([^=]+)=(.*)$/s.exec(item) ?? []) : [];
  return name === undefined ? item : pairOf(name.trim(), value?.trim());
}

/** A bool in a pair is 1 or 0, as fields read it. */
function pairOf(name: string, value: unknown): unknown {
  if (typeof value === "boolean") return `${name}=${value ? "1" : "0"}`;
  return isScalar(value) || value === null ? `${name}=${value ?? ""}` : { [name]: value };
}

/** True for lists of the same items in any order. Empty items are ignored, as in fields. */
function sameItems(denied: readonly Reading[], sent: readonly Reading[]): boolean {
  const wanted = denied.filter(isSomething);
  const given = sent.filter(isSomething);
  return (
    wanted.every((one) => given.some((item) => mayMean(one, item))) &&
    given.every((item) => wanted.some((one) => mayMean(one, item)))
  );
}

function isSomething({ text }: Reading): boolean {
  return text !== "";
}

function mayMean(denied: Reading, sent: Reading): boolean {
  if (denied.text === null || sent.text === null) return sameValue(denied.value, sent.value);
  if (textMatches(denied.text, sent.text)) return true;
  if (denied.flag !== null && denied.flag === sent.flag) return true;
  return denied.seconds !== null && denied.seconds === sent.seconds;
}

function textMatches(pattern: string, text: string): boolean {
  if (pattern.length < 2) return pattern === text;
  const anyBefore = pattern.startsWith("*");
  const anyAfter = pattern.endsWith("*");
  if (anyBefore && anyAfter) return text.includes(pattern.slice(1, -1));
  if (anyBefore) return text.endsWith(pattern.slice(1));
  if (anyAfter) return text.startsWith(pattern.slice(0, -1));
  return pattern === text;
}

/** Deep equality with equal types. The depth is bounded by that of `expected`, which the policy parser limits. */
function sameValue(expected: unknown, value: unknown): boolean {
  if (expected === null || typeof expected !== "object") return expected === value;
  if (value === null || typeof value !== "object") return false;
  if (Array.isArray(expected)) {
    return (
      Array.isArray(value) &&
      value.length === expected.length &&
      expected.every((item, index) => sameValue(item, value[index]))
    );
  }
  if (Array.isArray(value)) return false;
  const actual = new Map<string, unknown>(Object.entries(value));
  const entries = Object.entries(expected);
  return (
    entries.length === actual.size &&
    entries.every(([key, item]) => actual.has(key) && sameValue(item, actual.get(key)))
  );
}
