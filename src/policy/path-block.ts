import { type Ms, parseAbsoluteTime, type Seconds } from "../base/clock.ts";
import { parseDuration } from "../base/duration.ts";
import { mergeParameters } from "./parameters.ts";
import { hasForbiddenWildcards } from "./pattern.ts";
import { CAPABILITIES, type Capability, type ParameterRule, type ParameterValue, type PathRule } from "./rule.ts";
import { objectsOf, type Problems, quote, type SyntaxEntry, type SyntaxObject, type SyntaxValue } from "./syntax.ts";
import { hasBalancedBraces } from "./template.ts";

/** Longest path of a rule, in characters. */
export const MAX_RULE_PATH_LENGTH = 4096;

const KEYS = [
  "comment",
  "policy",
  "capabilities",
  "allowed_parameters",
  "denied_parameters",
  "required_parameters",
  "min_wrapping_ttl",
  "max_wrapping_ttl",
  "mfa_methods",
  "pagination_limit",
  "expiration",
  "list_scan_response_keys_filter_path",
];
const UNSUPPORTED_KEYS = ["mfa_methods", "list_scan_response_keys_filter_path"];

/** The capabilities that the values of the deprecated setting `policy` stand for. */
const OLD_POLICIES: ReadonlyMap<string, readonly Capability[]> = new Map([
  ["deny", ["deny"]],
  ["read", ["read", "list"]],
  ["write", ["create", "read", "update", "delete", "list"]],
  ["sudo", ["create", "read", "update", "delete", "list", "sudo"]],
]);

/**
 * Reads the block of one path, which is at the offset `at`. Mistakes are added to `problems`; the returned rule must
 * not be used then. A block with `deny` keeps only that and its expiry.
 */
export function readBlock(writtenPath: string, at: number, block: SyntaxObject, problems: Problems): PathRule {
  const path = writtenPath.startsWith("/") ? writtenPath.slice(1) : writtenPath;
  const settings = new Settings(block, `path ${quote(path)}: `, problems);
  if (path.length > MAX_RULE_PATH_LENGTH) settings.problem(`is longer than ${MAX_RULE_PATH_LENGTH} characters`, at);
  if (hasForbiddenWildcards(path)) settings.problem("invalid use of wildcards ('+*' is forbidden)", at);
  if (!hasBalancedBraces(path)) settings.problem("unbalanced templating characters", at);
  settings.checkKeys();
  const capabilities = readCapabilities(settings);
  const min = settings.duration("min_wrapping_ttl");
  const max = settings.duration("max_wrapping_ttl");
  if (min && max && max.value > 0 && max.value < min.value) {
    settings.problem("max_wrapping_ttl cannot be less than min_wrapping_ttl", max.at);
  }
  const allowed = settings.parameters("allowed_parameters");
  const denied = settings.parameters("denied_parameters");
  const required = new Set(settings.texts("required_parameters").map(({ value }) => value.toLowerCase()));
  const page = settings.count("pagination_limit");
  const expiration = settings.time("expiration");
  const expiry = expiration ? { expiresAt: expiration.value } : {};
  if (capabilities.has("deny")) return { path, capabilities: ["deny"], ...expiry };
  return {
    path,
    capabilities: CAPABILITIES.filter((one) => capabilities.has(one)),
    ...(min && min.value > 0 && { minWrappingTtlSeconds: min.value }),
    ...(max && max.value > 0 && { maxWrappingTtlSeconds: max.value }),
    ...(allowed && { allowedParameters: allowed }),
    ...(denied && { deniedParameters: denied }),
    ...(required.size > 0 && { requiredParameters: [...required] }),
    ...(page && page.value > 0 && { paginationLimit: page.value }),
    ...expiry,
  };
}

function readCapabilities(settings: Settings): Set<Capability> {
  const capabilities = new Set<Capability>();
  for (const { value, at } of settings.texts("capabilities")) {
    const capability = CAPABILITIES.find((one) => one === value);
    if (capability) capabilities.add(capability);
    else settings.problem(`invalid capability ${quote(value)}`, at);
  }
  const old = settings.text("policy");
  if (old && old.value !== "") {
    const meaning = OLD_POLICIES.get(old.value);
    if (!meaning) settings.problem(`invalid policy ${quote(old.value)}`, old.at);
    for (const capability of meaning ?? []) capabilities.add(capability);
  }
  return capabilities;
}

interface Setting<T> {
  readonly value: T;
  readonly at: number;
}

/**
 * Reads the settings of one block by type; null for an absent one. A value of the wrong type is reported in `problems`
 * and counts as absent. So is a repeated key, of which any value may be read.
 */
class Settings {
  readonly #block: SyntaxObject;
  readonly #context: string;
  readonly #problems: Problems;

  /** @param context prefix of every message. */
  constructor(block: SyntaxObject, context: string, problems: Problems) {
    this.#block = block;
    this.#context = context;
    this.#problems = problems;
  }

  problem(message: string, at: number): void {
    this.#problems.add(this.#context + message, at);
  }

  /** Reports unknown keys, repeated ones, and unsupported ones with a value other than an empty text or list. */
  checkKeys(): void {
    for (const { key, at } of this.#block.entries) {
      if (!KEYS.includes(key)) this.#problems.addInvalidKey(this.#context, key, at);
    }
    this.#problems.addRepeatedKeys(this.#context, this.#block.entries);
    for (const key of UNSUPPORTED_KEYS) {
      for (const { value, at } of this.#given(key)) {
        const empty = value.kind === "string" ? value.value === "" : value.kind === "list" && value.items.length === 0;
        if (!empty) this.problem(`${key} is not supported, and without it the rule would allow more than it says`, at);
      }
    }
  }

  text(key: string): Setting<string> | null {
    return this.#last(key, `${key} must be a string`, (value) => (value.kind === "string" ? value.value : null));
  }

  /** A whole number, not negative, given as a number or as a string. */
  count(key: string): Setting<number> | null {
    return this.#last(key, `${key} must be a whole number, not negative`, (value) => {
      const number = value.kind === "string" && /^\d{1,15}$/.test(value.value) ? Number(value.value) : numberOf(value);
      return number !== null && Number.isSafeInteger(number) && number >= 0 ? number : null;
    });
  }

  /** Not negative, given in seconds or as a duration like `5m`. */
  duration(key: string): Setting<Seconds> | null {
    return this.#last(key, `${key} must be a duration in seconds or like 5m, not negative`, (value) => {
      const text = value.kind === "string" ? value.value : String(numberOf(value) ?? "x");
      const duration = parseDuration(text);
      return duration.ok && duration.value >= 0 ? duration.value : null;
    });
  }

  time(key: string): Setting<Ms> | null {
    return this.#last(key, `invalid ${key} time: neither RFC 3339 nor seconds since 1970`, (value) =>
      parseAbsoluteTime(value.kind === "string" ? value.value : String(numberOf(value))),
    );
  }

  /** The strings of all lists under `key`. */
  texts(key: string): Setting<string>[] {
    return this.#given(key).flatMap(({ value, at }) => {
      const items = value.kind === "list" ? value.items : [];
      const texts = items.flatMap((item) => (item.kind === "string" ? [{ value: item.value, at: item.at }] : []));
      if (value.kind === "list" && texts.length === items.length) return texts;
      this.problem(`${key} must be a list of strings`, at);
      return [];
    });
  }

  /** Parameters and their values. Names are lower-cased; the values of two spellings of a name are merged. */
  parameters(key: string): ParameterRule[] | null {
    const given = this.#given(key);
    if (given.length === 0) return null;
    const read: ParameterRule[] = [];
    for (const { value, at } of given) {
      const objects = objectsOf(value);
      if (!objects) this.problem(`${key} must be an object of lists`, at);
      const entries = objects?.flatMap((object) => object.entries) ?? [];
      this.#problems.addRepeatedKeys(`${this.#context}${key}: `, entries);
      for (const entry of entries) {
        if (entry.value.kind === "list") {
          for (const item of entry.value.items) this.#checkValue(key, item);
          read.push({ name: entry.key.toLowerCase(), values: entry.value.items.map(plainValue) });
        } else {
          this.problem(`${key} must be an object of lists`, entry.at);
        }
      }
    }
    return [...mergeParameters([read])].map(([name, values]) => ({ name, values }));
  }

  /** Reports repeated keys of the objects in a value of a parameter. */
  #checkValue(key: string, value: SyntaxValue): void {
    if (value.kind === "list") for (const item of value.items) this.#checkValue(key, item);
    if (value.kind !== "object") return;
    this.#problems.addRepeatedKeys(`${this.#context}${key}: `, value.entries);
    for (const entry of value.entries) this.#checkValue(key, entry.value);
  }

  #given(key: string): SyntaxEntry[] {
    return this.#block.entries.filter((entry) => entry.key === key);
  }

  #last<T>(key: string, problem: string, read: (value: SyntaxValue) => T | null): Setting<T> | null {
    let last: Setting<T> | null = null;
    for (const { value, at } of this.#given(key)) {
      const found = read(value);
      if (found === null) this.problem(problem, at);
      else last = { value: found, at };
    }
    return last;
  }
}

function numberOf(value: SyntaxValue): number | null {
  return value.kind === "number" ? value.value : null;
}

function plainValue(value: SyntaxValue): ParameterValue {
  switch (value.kind) {
    case "null":
      return null;
    case "list":
      return value.items.map(plainValue);
    case "object":
      return Object.fromEntries(value.entries.map((entry) => [entry.key, plainValue(entry.value)]));
    default:
      return value.value;
  }
}
