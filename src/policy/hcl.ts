import type { Result } from "../base/result.ts";
import {
  catchMistake,
  MAX_POLICY_DEPTH,
  mistake,
  type Problem,
  type SyntaxEntry,
  type SyntaxObject,
  type SyntaxValue,
} from "./syntax.ts";

/**
 * Reads HCL version 1 as policies use it: `key = value`, blocks `key "label" { ... }`, lists, objects, heredocs,
 * comments. Commas between the items of an object are optional. There is no interpolation: `${` is text.
 */
export function parseHcl(text: string): Result<SyntaxObject, Problem> {
  return catchMistake(() => ({ kind: "object", entries: new HclParser(text).parseEntries("end", 0), at: 0 }));
}

type Token =
  | { readonly kind: "identifier" | "string"; readonly text: string; readonly at: number }
  | { readonly kind: "number"; readonly value: number; readonly at: number }
  | { readonly kind: "{" | "}" | "[" | "]" | "=" | "," | "end"; readonly at: number };

const SPACE = /[ \t\r\n]+/y;
const LINE_COMMENT = /(?:#|\/\/)[^\n]*/y;
const IDENTIFIER = /[\p{L}_][\p{L}\p{Nd}_.-]*/uy;
const NUMBER = /-?(?:0[xX][0-9a-fA-F]+|(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)/y;
const PLAIN_CHARACTERS = /[^"\\\n]+/y;
const ESCAPE = /\\(?:([abfnrtv"\\])|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{3}))/y;
const HEREDOC_START = /<<(-?)([\p{L}_][\p{L}\p{Nd}_]*)\r?\n/uy;

const SIMPLE_ESCAPES: Readonly<Record<string, string>> = {
  a: "\u0007",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
  '"': '"',
  "\\": "\\",
};

/**
 * Recursive descent. Every regular expression here is sticky and without nested repetition, so that reading takes
 * linear time.
 */
class HclParser {
  readonly #text: string;
  #at = 0;
  #token: Token;

  constructor(text: string) {
    this.#text = text;
    this.#token = this.#next();
  }

  /** Entries up to and including the token `end`. */
  parseEntries(end: "}" | "end", depth: number): SyntaxEntry[] {
    const entries: SyntaxEntry[] = [];
    while (!this.#skip(end)) {
      entries.push(this.#entry(depth));
      this.#skip(",");
    }
    return entries;
  }

  #entry(depth: number): SyntaxEntry {
    const first = this.#key() ?? mistake("expected a key", this.#token.at);
    const labels: Omit<SyntaxEntry, "value">[] = [];
    while (true) {
      const { kind, at } = this.#token;
      if (labels.length === 0 && this.#skip("=")) return { ...first, value: this.#value(depth + 1) };
      if (kind === "{") {
        // Labels become nested objects, so that their number counts as depth.
        let value = this.#value(depth + 1 + labels.length);
        for (const label of labels.reverse()) value = { kind: "object", entries: [{ ...label, value }], at: label.at };
        return { ...first, value };
      }
      labels.push(this.#key() ?? mistake("expected '=' or '{'", at));
    }
  }

  /** Advances past a key or label. Returns null for any other token. */
  #key(): Omit<SyntaxEntry, "value"> | null {
    const token = this.#token;
    if (token.kind !== "identifier" && token.kind !== "string") return null;
    this.#token = this.#next();
    return { key: token.text, at: token.at };
  }

  #value(depth: number): SyntaxValue {
    const token = this.#token;
    if (depth > MAX_POLICY_DEPTH) mistake("nested too deeply", token.at);
    this.#token = this.#next();
    const { at } = token;
    switch (token.kind) {
      case "string":
        return { kind: "string", value: token.text, at };
      case "number":
        return { kind: "number", value: token.value, at };
      case "{":
        return { kind: "object", entries: this.parseEntries("}", depth), at };
      case "[":
        return { kind: "list", items: this.#items(depth), at };
      case "identifier":
        if (token.text === "true" || token.text === "false") return { kind: "bool", value: token.text === "true", at };
        return mistake("expected a value; text must be quoted", at);
      default:
        return mistake("expected a value", at);
    }
  }

  /** Items up to and including `]`; a trailing comma is allowed. */
  #items(depth: number): SyntaxValue[] {
    const items: SyntaxValue[] = [];
    while (!this.#skip("]")) {
      items.push(this.#value(depth + 1));
      const { kind, at } = this.#token;
      if (!this.#skip(",") && kind !== "]") mistake("expected ',' or ']'", at);
    }
    return items;
  }

  #skip(kind: Token["kind"]): boolean {
    if (this.#token.kind !== kind) return false;
    this.#token = this.#next();
    return true;
  }

  #next(): Token {
    this.#skipBlanks();
    const at = this.#at;
    const character = this.#text[at];
    if (character === undefined) return { kind: "end", at };
    switch (character) {
      case "{":
      case "}":
      case "[":
      case "]":
      case "=":
      case ",":
        this.#at++;
        return { kind: character, at };
      case '"':
        return this.#string();
      case "<":
        return this.#heredoc();
    }
    const identifier = this.#take(IDENTIFIER);
    if (identifier) return { kind: "identifier", text: identifier[0], at };
    const number = this.#take(NUMBER);
    if (number) return this.#number(number[0], at);
    return mistake("unexpected character", at);
  }

  #skipBlanks(): void {
    while (true) {
      if (this.#take(SPACE) || this.#take(LINE_COMMENT)) continue;
      if (!this.#text.startsWith("/*", this.#at)) return;
      const end = this.#text.indexOf("*/", this.#at + 2);
      if (end < 0) mistake("comment is not closed", this.#at);
      this.#at = end + 2;
    }
  }

  #number(text: string, at: number): Token {
    const negative = text.startsWith("-");
    const size = Number(negative ? text.slice(1) : text);
    const following = this.#text[this.#at] ?? "";
    if (!Number.isFinite(size) || /[\w.]/.test(following)) mistake("invalid number", at);
    return { kind: "number", value: negative ? -size : size, at };
  }

  #string(): Token {
    const start = this.#at++;
    const parts: string[] = [];
    while (true) {
      const plain = this.#take(PLAIN_CHARACTERS);
      if (plain) parts.push(plain[0]);
      const at = this.#at;
      const character = this.#text[at];
      if (character === '"') {
        this.#at++;
        return { kind: "string", text: parts.join(""), at: start };
      }
      if (character !== "\\") mistake("string is not closed", start);
      const escaped = this.#take(ESCAPE);
      parts.push((escaped && escapedCharacter(escaped)) ?? mistake("invalid escape in a string", at));
    }
  }

  /** `<<END` to a line that has only `END`. With `<<-END` the indentation of that line is removed from every line. */
  #heredoc(): Token {
    const at = this.#at;
    const [, dash, anchor] = this.#take(HEREDOC_START) ?? mistake("invalid heredoc", at);
    const lines: string[] = [];
    while (this.#at < this.#text.length) {
      const newline = this.#text.indexOf("\n", this.#at);
      const end = newline < 0 ? this.#text.length : newline;
      const line = this.#text.slice(this.#at, end).replace(/\r$/, "");
      this.#at = end === this.#text.length ? end : end + 1;
      if (line.trimStart() === anchor) {
        const indent = line.slice(0, line.length - line.trimStart().length);
        return { kind: "string", text: joinHeredoc(lines, dash === "-" ? indent : ""), at };
      }
      lines.push(line);
    }
    return mistake("heredoc is not closed", at);
  }

  #take(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.#at;
    const match = pattern.exec(this.#text);
    if (match) this.#at = pattern.lastIndex;
    return match;
  }
}

function escapedCharacter(match: RegExpExecArray): string | null {
  const [, simple, byte, short, long, octal] = match;
  if (simple !== undefined) return SIMPLE_ESCAPES[simple] ?? null;
  const code = octal === undefined ? Number.parseInt(byte ?? short ?? long ?? "", 16) : Number.parseInt(octal, 8);
  const surrogate = code >= 0xd800 && code <= 0xdfff;
  return code > 0x10ffff || surrogate ? null : String.fromCodePoint(code);
}

function joinHeredoc(lines: readonly string[], indent: string): string {
  const stripped = lines.every((line) => line.startsWith(indent))
    ? lines.map((line) => line.slice(indent.length))
    : lines;
  return stripped.map((line) => `${line}\n`).join("");
}
