import { err, ok, type Result } from "../base/result.ts";
import { MAX_POLICY_DEPTH, type Problem, type SyntaxEntry, type SyntaxObject, type SyntaxValue } from "./syntax.ts";

/**
 * Reads HCL version 1 as policies use it: `key = value`, blocks `key "label" { ... }`, lists, objects, heredocs,
 * comments. Commas between the items of an object are optional. There is no interpolation: `${` is text.
 */
export function parseHcl(text: string): Result<SyntaxObject, Problem> {
  const parser = new HclParser(text);
  const entries = parser.parseEntries("end", 0);
  return entries ? ok({ kind: "object", entries, at: 0 }) : err(parser.problem);
}

/** Recursive descent; every method returns null after an error, which is then in `problem`. */
class HclParser {
  readonly #lexer: HclLexer;
  #token: Token;
  problem: Problem = { message: "unreadable text", at: 0 };

  constructor(text: string) {
    this.#lexer = new HclLexer(text);
    this.#token = this.#lexer.next();
  }

  /** Entries up to and including the token `end`. */
  parseEntries(end: "}" | "end", depth: number): SyntaxEntry[] | null {
    const entries: SyntaxEntry[] = [];
    while (!this.#skip(end)) {
      const entry = this.#entry(depth);
      if (!entry) return null;
      entries.push(entry);
      this.#skip(",");
    }
    return entries;
  }

  #entry(depth: number): SyntaxEntry | null {
    const keys: { key: string; at: number }[] = [];
    while (true) {
      const token = this.#token;
      if (token.kind === "identifier" || token.kind === "string") {
        keys.push({ key: token.text, at: token.at });
        this.#advance();
      } else if (token.kind === "=" && keys.length === 1) {
        this.#advance();
        return this.#nest(keys, this.#value(depth + 1));
      } else if (token.kind === "{" && keys.length > 0) {
        // Labels become nested objects, so that their number counts as depth.
        return this.#nest(keys, this.#value(depth + keys.length));
      } else {
        return this.#fail(keys.length === 0 ? "expected a key" : "expected '=' or '{'", token.at);
      }
    }
  }

  #nest(keys: readonly { key: string; at: number }[], value: SyntaxValue | null): SyntaxEntry | null {
    if (!value) return null;
    let inner = value;
    for (const { key, at } of keys.slice(1).reverse()) {
      inner = { kind: "object", entries: [{ key, at, value: inner }], at };
    }
    const [first] = keys;
    return first ? { key: first.key, at: first.at, value: inner } : null;
  }

  #value(depth: number): SyntaxValue | null {
    const token = this.#token;
    if (depth > MAX_POLICY_DEPTH) return this.#fail("nested too deeply", token.at);
    this.#advance();
    const { at } = token;
    switch (token.kind) {
      case "string":
        return { kind: "string", value: token.text, at };
      case "number":
        return { kind: "number", value: token.value, at };
      case "{": {
        const entries = this.parseEntries("}", depth);
        return entries && { kind: "object", entries, at };
      }
      case "[": {
        const items = this.#items(depth);
        return items && { kind: "list", items, at };
      }
      case "identifier":
        if (token.text === "true" || token.text === "false") return { kind: "bool", value: token.text === "true", at };
        return this.#fail("expected a value; text must be quoted", at);
      default:
        return this.#fail("expected a value", at);
    }
  }

  /** Items up to and including `]`; a trailing comma is allowed. */
  #items(depth: number): SyntaxValue[] | null {
    const items: SyntaxValue[] = [];
    while (!this.#skip("]")) {
      const item = this.#value(depth + 1);
      if (!item) return null;
      items.push(item);
      const { kind, at } = this.#token;
      if (!this.#skip(",") && kind !== "]") return this.#fail("expected ',' or ']'", at);
    }
    return items;
  }

  #skip(kind: Token["kind"]): boolean {
    if (this.#token.kind !== kind) return false;
    this.#advance();
    return true;
  }

  #advance(): void {
    if (this.#token.kind !== "problem") this.#token = this.#lexer.next();
  }

  /** Records the problem: that of the text, if the lexer found one. The first `#fail` ends the parsing. */
  #fail(message: string, at: number): null {
    this.problem = this.#token.kind === "problem" ? this.#token : { message, at };
    return null;
  }
}

/** A token of HCL text. After a `problem`, which is a mistake in the text, there is no further token. */
type Token =
  | { readonly kind: "identifier" | "string"; readonly text: string; readonly at: number }
  | { readonly kind: "number"; readonly value: number; readonly at: number }
  | { readonly kind: "problem"; readonly message: string; readonly at: number }
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
 * Splits HCL text into tokens. Every regular expression here is sticky and without nested repetition, so that the
 * lexer takes linear time.
 */
class HclLexer {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  next(): Token {
    const open = this.#skipBlanks();
    if (open !== null) return problem("comment is not closed", open);
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
    return problem("unexpected character", at);
  }

  /** Skips white space and comments. Returns the offset of a comment that is not closed, or null. */
  #skipBlanks(): number | null {
    while (true) {
      if (this.#take(SPACE) || this.#take(LINE_COMMENT)) continue;
      if (!this.#text.startsWith("/*", this.#at)) return null;
      const end = this.#text.indexOf("*/", this.#at + 2);
      if (end < 0) return this.#at;
      this.#at = end + 2;
    }
  }

  #number(text: string, at: number): Token {
    const negative = text.startsWith("-");
    const size = Number(negative ? text.slice(1) : text);
    const following = this.#text[this.#at] ?? "";
    if (!Number.isFinite(size) || /[\w.]/.test(following)) return problem("invalid number", at);
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
      if (character !== "\\") return problem("string is not closed", start);
      const escaped = this.#take(ESCAPE);
      const value = escaped && escapedCharacter(escaped);
      if (value === null) return problem("invalid escape in a string", at);
      parts.push(value);
    }
  }

  /** `<<END` to a line that has only `END`. With `<<-END` the indentation of that line is removed from every line. */
  #heredoc(): Token {
    const at = this.#at;
    const opening = this.#take(HEREDOC_START);
    if (!opening) return problem("invalid heredoc", at);
    const [, dash, anchor] = opening;
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
    return problem("heredoc is not closed", at);
  }

  #take(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.#at;
    const match = pattern.exec(this.#text);
    if (match) this.#at = pattern.lastIndex;
    return match;
  }
}

function problem(message: string, at: number): Token {
  return { kind: "problem", message, at };
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
