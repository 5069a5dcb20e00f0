import { lineAt, locate, type PolicyParseError, type Problem, quote } from "./syntax.ts";

/** A string full of mistakes gets an answer of bounded length, in bounded time. */
const MAX_PROBLEMS = 5;

/** Collects what is wrong with the meaning of a policy text, so that its author sees several mistakes at once. */
export class Problems {
  readonly #source: string;
  readonly #found: Problem[] = [];

  constructor(source: string) {
    this.#source = source;
  }

  add(message: string, at: number): void {
    if (this.#found.length < MAX_PROBLEMS) this.#found.push({ message, at });
  }

  /** A key that means nothing here; `context` goes before the message. */
  addInvalidKey(context: string, key: string, at: number): void {
    if (this.#found.length < MAX_PROBLEMS) {
      this.add(`${context}invalid key ${quote(key)} on line ${lineAt(this.#source, at)}`, at);
    }
  }

  /** All messages in one, at the place of the first; null when there is none. */
  toError(): PolicyParseError | null {
    const inOrder = this.#found.toSorted((a, b) => a.at - b.at);
    const [first] = inOrder;
    if (!first) return null;
    return locate(this.#source, { message: inOrder.map(({ message }) => message).join("; "), at: first.at });
  }
}
