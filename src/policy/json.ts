import { err, ok, type Result } from "../base/result.ts";
import {
  catchMistake,
  MAX_POLICY_DEPTH,
  mistake,
  type Problem,
  type SyntaxEntry,
  type SyntaxObject,
  type SyntaxValue,
} from "./syntax.ts";

const SPACE = /[ \t\r\n]*/y;
/** A string without its closing quote: escapes, and characters from U+0020 on except quote and backslash. */
const STRING = /"(?:[ !#-[\]-\uffff]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const WORD = /true|false|null/y;

/**
 * Reads a policy written as JSON. Unlike `JSON.parse` it keeps every entry of a repeated key: blocks of the same path
 * are merged, and a later one must not hide an earlier `deny`. It also keeps the offsets of values, for messages.
 */
export function parseJson(text: string): Result<SyntaxObject, Problem> {
  const read = readJson(text, MAX_POLICY_DEPTH, Number.isFinite);
  if (!read.ok) return read;
  const { value } = read;
  return value.kind === "object" ? ok(value) : err({ message: "expected an object", at: value.at });
}

/** Reads JSON that nests no deeper than `maxDepth`, with all entries of its objects. Numbers must pass `isNumber`. */
export function readJson(
  text: string,
  maxDepth: number,
  isNumber: (value: number) => boolean = () => true,
): Result<SyntaxValue, Problem> {
  return catchMistake(() => new JsonParser(text, maxDepth, isNumber).document());
}

/** Recursive descent. */
class JsonParser {
  readonly #text: string;
  readonly #maxDepth: number;
  readonly #isNumber: (value: number) => boolean;
  #at = 0;

  constructor(text: string, maxDepth: number, isNumber: (value: number) => boolean) {
    this.#text = text;
    this.#maxDepth = maxDepth;
    this.#isNumber = isNumber;
  }

  document(): SyntaxValue {
    this.#take(SPACE);
    const value = this.#value(0);
    this.#take(SPACE);
    return this.#at < this.#text.length ? mistake("unexpected text after the object", this.#at) : value;
  }

  #value(depth: number): SyntaxValue {
    const at = this.#at;
    if (depth > this.#maxDepth) mistake("nested too deeply", at);
    switch (this.#text[at]) {
      case "{":
        return { kind: "object", entries: this.#sequence("}", () => this.#entry(depth)), at };
      case "[":
        return { kind: "list", items: this.#sequence("]", () => this.#value(depth + 1)), at };
      case '"':
        return { kind: "string", value: this.#string(), at };
    }
    const word = this.#take(WORD);
    if (word === "null") return { kind: "null", at };
    if (word !== null) return { kind: "bool", value: word === "true", at };
    const value = Number(this.#take(NUMBER) ?? mistake("expected a value", at));
    return this.#isNumber(value) ? { kind: "number", value, at } : mistake("invalid number", at);
  }

  #entry(depth: number): SyntaxEntry {
    const at = this.#at;
    const key = this.#string();
    this.#take(SPACE);
    if (this.#text[this.#at] !== ":") mistake("expected ':'", this.#at);
    this.#at++;
    this.#take(SPACE);
    return { key, value: this.#value(depth + 1), at };
  }

  /** The comma-separated items after an opening bracket, up to and including `close`. */
  #sequence<T>(close: "}" | "]", item: () => T): T[] {
    const items: T[] = [];
    this.#at++;
    this.#take(SPACE);
    if (this.#text[this.#at] === close) {
      this.#at++;
      return items;
    }
    while (true) {
      items.push(item());
      this.#take(SPACE);
      const following = this.#text[this.#at];
      if (following !== "," && following !== close) mistake(`expected ',' or '${close}'`, this.#at);
      this.#at++;
      if (following === close) return items;
      this.#take(SPACE);
    }
  }

  #string(): string {
    const start = this.#take(STRING) ?? mistake("expected a string", this.#at);
    if (this.#text[this.#at] !== '"') mistake("invalid string", this.#at);
    this.#at++;
    return String(JSON.parse(`${start}"`));
  }

  #take(pattern: RegExp): string | null {
    pattern.lastIndex = this.#at;
    const match = pattern.exec(this.#text);
    if (!match) return null;
    this.#at = pattern.lastIndex;
    return match[0];
  }
}
