import { err, ok, type Result } from "../base/result.ts";
import { HclLexer, type Token } from "./hcl-lexer.ts";
import { MAX_POLICY_DEPTH, type Problem, type SyntaxEntry, type SyntaxObject, type SyntaxValue } from "./syntax.ts";

/**
 * Reads HCL version 1 as policies use it: `key = value`, blocks `key "label" { ... }`, lists, objects, heredocs,
 * comments. Commas between the items of an object are optional. There is no interpolation: `${` is text.
 *
 * @returns the top level as one object, or the first problem.
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

  /** Advances past the current token if it is of this kind. Returns false for any other. */
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
