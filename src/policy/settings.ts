import { parseAbsoluteTime } from "../base/clock.ts";
import { parseDuration } from "../base/duration.ts";
import { addParameters } from "./parameters.ts";
import type { ParameterRule, ParameterValue } from "./rule.ts";
import { objectsOf, type Problems, type SyntaxEntry, type SyntaxObject, type SyntaxValue } from "./syntax.ts";

/** The value of a setting, with its offset in the text. */
export interface Setting<T> {
  readonly value: T;
  readonly at: number;
}

/**
 * Reads the settings of one block by type. The lists or objects of a repeated key are merged; of other values the last
 * one applies. A value of the wrong type is reported in `problems` and counts as absent.
 */
export class Settings {
  readonly #block: SyntaxObject;
  readonly #context: string;
  readonly #problems: Problems;

  /** @param context prefix of every message. */
  constructor(block: SyntaxObject, context: string, problems: Problems) {
    this.#block = block;
    this.#context = context;
    this.#problems = problems;
  }

  /** Reports a problem with this block. */
  problem(message: string, at: number): void {
    this.#problems.add(this.#context + message, at);
  }

  /** Reports every key that is not one of `known`. */
  refuseOthers(known: readonly string[]): void {
    for (const { key, at } of this.#block.entries) {
      if (!known.includes(key)) this.#problems.addInvalidKey(this.#context, key, at);
    }
  }

  /** Reports every use of `key` with a value other than an empty text or list. */
  refuseUnsupported(key: string): void {
    for (const { value, at } of this.#given(key)) {
      const empty = value.kind === "string" ? value.value === "" : value.kind === "list" && value.items.length === 0;
      if (!empty) this.problem(`${key} is not supported, and without it the rule would allow more than it says`, at);
    }
  }

  /** A string; null when absent. */
  text(key: string): Setting<string> | null {
    return this.#last(key, `${key} must be a string`, (value) => (value.kind === "string" ? value.value : null));
  }

  /** A whole number, not negative, given as a number or as a string; null when absent. */
  count(key: string): Setting<number> | null {
    return this.#last(key, `${key} must be a whole number, not negative`, (value) => {
      const number = value.kind === "string" && /^\d{1,15}$/.test(value.value) ? Number(value.value) : numberOf(value);
      return number !== null && Number.isSafeInteger(number) && number >= 0 ? number : null;
    });
  }

  /** Seconds, not negative, given as a number or as a duration like `5m`; null when absent. */
  duration(key: string): Setting<number> | null {
    return this.#last(key, `${key} must be a duration in seconds or like 5m, not negative`, (value) => {
      const text = value.kind === "string" ? value.value : String(numberOf(value) ?? "x");
      const duration = parseDuration(text);
      return duration.ok && duration.value >= 0 ? duration.value : null;
    });
  }

  /** The setting `expiration` in ms since 1970; null when absent. */
  expiration(): Setting<number> | null {
    const problem = "invalid expiration time: neither RFC 3339 nor seconds since 1970";
    return this.#last("expiration", problem, (value) =>
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

  /** Parameters and their values; null when absent. Names are lower-cased. */
  parameters(key: string): ParameterRule[] | null {
    const given = this.#given(key);
    if (given.length === 0) return null;
    const merged = new Map<string, readonly ParameterValue[]>();
    for (const { value, at } of given) {
      const objects = objectsOf(value);
      if (!objects) this.problem(`${key} must be an object of lists`, at);
      for (const entry of objects?.flatMap(({ entries }) => entries) ?? []) {
        if (entry.value.kind === "list") {
          addParameters(merged, [{ name: entry.key.toLowerCase(), values: entry.value.items.map(plainValue) }]);
        } else {
          this.problem(`${key} must be an object of lists`, entry.at);
        }
      }
    }
    return [...merged].map(([name, values]) => ({ name, values }));
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
