import { err, ok, type Result } from "../base/result.ts";

/** Longest policy text, in characters. */
export const MAX_POLICY_LENGTH = 256 * 1024;

/** Maximum nesting of objects and lists in a policy. A policy needs about 6 levels at most. */
export const MAX_POLICY_DEPTH = 32;

/** A value in a policy text, with its offset. Both syntaxes, HCL and JSON, are parsed into this form. */
export type SyntaxValue =
  | { readonly kind: "string"; readonly value: string; readonly at: number }
  | { readonly kind: "number"; readonly value: number; readonly at: number }
  | { readonly kind: "bool"; readonly value: boolean; readonly at: number }
  | { readonly kind: "null"; readonly at: number }
  | { readonly kind: "list"; readonly items: readonly SyntaxValue[]; readonly at: number }
  | SyntaxObject;

/** An object or block. Entries are in the order of the text; keys may repeat. Labels of a block are nested objects. */
export interface SyntaxObject {
  readonly kind: "object";
  readonly entries: readonly SyntaxEntry[];
  readonly at: number;
}

export interface SyntaxEntry {
  readonly key: string;
  readonly value: SyntaxValue;
  /** Offset of the key in the text. */
  readonly at: number;
}

/** The objects of a block that may be given once or as a list; null when the value is neither. */
export function objectsOf(value: SyntaxValue): SyntaxObject[] | null {
  if (value.kind === "object") return [value];
  if (value.kind !== "list") return null;
  const objects = value.items.filter((item) => item.kind === "object");
  return objects.length === value.items.length ? objects : null;
}

/** The entries whose key is that of an entry before them. */
export function repeatedIn(entries: readonly SyntaxEntry[]): readonly SyntaxEntry[] {
  const seen = new Set<string>();
  return entries.filter(({ key }) => {
    const isRepeated = seen.has(key);
    seen.add(key);
    return isRepeated;
  });
}

/** A mistake in a text, with its offset. */
export interface Problem {
  readonly message: string;
  readonly at: number;
}

/**
 * Ends the reading of a text in a syntax. An exception to the rule that expected failures are values: the readers are
 * recursive, and every step would have to check for a failure. Only `catchMistake`, at their border, catches it.
 */
class Mistake extends Error {
  readonly at: number;

  constructor(message: string, at: number) {
    super(message);
    this.at = at;
  }
}

/** Ends the `read` of `catchMistake` with a mistake at the offset `at`. */
export function mistake(message: string, at: number): never {
  throw new Mistake(message, at);
}

/** The result of `read`, or the mistake that ended it. */
export function catchMistake<T>(read: () => T): Result<T, Problem> {
  try {
    return ok(read());
  } catch (error) {
    if (error instanceof Mistake) return err({ message: error.message, at: error.at });
    throw error;
  }
}

/** Why a policy can't be read. Line and column count characters from 1. */
export interface PolicyParseError {
  readonly message: string;
  readonly line: number;
  readonly column: number;
}

/** The line of an offset into `text`, from 1. */
export function lineAt(text: string, at: number): number {
  let line = 1;
  for (let end = text.indexOf("\n"); end >= 0 && end < at; end = text.indexOf("\n", end + 1)) line++;
  return line;
}

/** Converts the offset of a problem in `text` to line and column. */
export function locate(text: string, { message, at }: Problem): PolicyParseError {
  const lineStart = at === 0 ? 0 : text.lastIndexOf("\n", at - 1) + 1;
  return { message, line: lineAt(text, at), column: [...text.slice(lineStart, at)].length + 1 };
}

/** Quotes a text of the policy for a message. A text of more than 128 characters is truncated. */
export function quote(text: string): string {
  return JSON.stringify(text.length > 128 ? `${text.slice(0, 128)}...` : text);
}

/** Maximum number of reported mistakes. It bounds the length of the answer and the time to make it. */
const MAX_PROBLEMS = 5;

/** Collects semantic mistakes of a policy text, so that its author sees several at once. */
export class Problems {
  readonly #source: string;
  readonly #found: Problem[] = [];

  constructor(source: string) {
    this.#source = source;
  }

  add(message: string, at: number): void {
    if (this.#found.length < MAX_PROBLEMS) this.#found.push({ message, at });
  }

  /** Adds an unknown key. @param context prefix of the message. */
  addInvalidKey(context: string, key: string, at: number): void {
    if (this.#found.length < MAX_PROBLEMS) {
      this.add(`${context}invalid key ${quote(key)} on line ${lineAt(this.#source, at)}`, at);
    }
  }

  /**
   * Adds each key that stands more than once in one object. Readers of policies disagree about what that means: the
   * first, the last, or all of them. @param context prefix of the message.
   */
  addRepeatedKeys(context: string, entries: readonly SyntaxEntry[]): void {
    const first = new Map<string, number>();
    for (const { key, at } of entries) {
      const firstAt = first.get(key);
      if (firstAt === undefined) first.set(key, at);
      else if (this.#found.length < MAX_PROBLEMS) {
        this.add(`${context}${quote(key)} is already set on line ${lineAt(this.#source, firstAt)}`, at);
      }
    }
  }

  /** Joins all messages into one error at the position of the first; null without a message. */
  toError(): PolicyParseError | null {
    const inOrder = this.#found.toSorted((a, b) => a.at - b.at);
    const [first] = inOrder;
    if (!first) return null;
    return locate(this.#source, { message: inOrder.map(({ message }) => message).join("; "), at: first.at });
  }
}
