import { err, ok, type Result } from "../base/result.ts";
import { MAX_POLICY_DEPTH, type Problem, type SyntaxEntry, type SyntaxObject, type SyntaxValue } from "./syntax.ts";

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
  const parser = new JsonParser(text, maxDepth, isNumber);
  const value = parser.document();
  return value ? ok(value) : err(parser.problem);
}

/** Recursive descent; every method returns null after an error, which is then in `problem`. */
class JsonParser {
  readonly #text: string;
  readonly #maxDepth: number;
  readonly #isNumber: (value: number) => boolean;
  #at = 0;
  problem: Problem = { message: "unreadable text", at: 0 };

  constructor(text: string, maxDepth: number, isNumber: (value: number) => boolean) {
    this.#text = text;
    this.#maxDepth = maxDepth;
    this.#isNumber = isNumber;
  }

  document(): SyntaxValue | null {
    this.#take(SPACE);
    const value = this.#value(0);
    if (!value) return null;
    this.#take(SPACE);
    return this.#at < this.#text.length ? this.#fail("unexpected text after the object", this.#at) : value;
  }

  #value(depth: number): SyntaxValue | null {
    const at = this.#at;
    if (depth > this.#maxDepth) return this.#fail("nested too deeply", at);
    switch (this.#text[at]) {
      case "{": {
        const entries = this.#sequence("}", () => this.#entry(depth));
        return entries && { kind: "object", entries, at };
      }
      case "[": {
        const items = this.#sequence("]", () => this.#value(depth + 1));
        return items && { kind: "list", items, at };
      }
      case '"': {
        const value = this.#string();
        return value === null ? null : { kind: "string", value, at };
      }
    }
    const word = this.#take(WORD);
    if (word === "null") return { kind: "null", at };
    if (word !== null) return { kind: "bool", value: word === "true", at };
    const number = this.#take(NUMBER);
    if (number === null) return this.#fail("expected a value", at);
    const value = Number(number);
    return this.#isNumber(value) ? { kind: "number", value, at } : this.#fail("invalid number", at);
  }

  #entry(depth: number): SyntaxEntry | null {
    const at = this.#at;
    const key = this.#string();
    if (key === null) return null;
    this.#take(SPACE);
    if (this.#text[this.#at] !== ":") return this.#fail("expected ':'", this.#at);
    this.#at++;
    this.#take(SPACE);
    const value = this.#value(depth + 1);
    return value && { key, value, at };
  }

  /** The comma-separated items after an opening bracket, up to and including `close`. */
  #sequence<T>(close: "}" | "]", item: () => T | null): T[] | null {
    const items: T[] = [];
    this.#at++;
    this.#take(SPACE);
    if (this.#text[this.#at] === close) {
      this.#at++;
      return items;
    }
    while (true) {
      const one = item();
      if (one === null) return null;
      items.push(one);
      this.#take(SPACE);
      const following = this.#text[this.#at];
      if (following !== "," && following !== close) return this.#fail(`expected ',' or '${close}'`, this.#at);
      this.#at++;
      if (following === close) return items;
      this.#take(SPACE);
    }
  }

  #string(): string | null {
    const start = this.#take(STRING);
    if (start === null) return this.#fail("expected a string", this.#at);
    if (this.#text[this.#at] !== '"') return this.#fail("invalid string", this.#at);
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

  #fail(message: string, at: number): null {
    this.problem = { message, at };
    return null;
  }
}
