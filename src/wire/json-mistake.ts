const LITERAL = /true|false|null/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
const BLANK = /[ \t\n\r]*/y;

/**
 * The position of the first syntax error, as `line 1, column 14`. The messages of `JSON.parse` differ from case to case
 * and often repeat the input. Called only for a string that `JSON.parse` refused, with a bounded depth.
 *
 * @returns null when there is no error.
 */
export function jsonMistakePlace(text: string): string | null {
  const at = jsonMistakeAt(text);
  if (at === null) return null;
  const before = text.slice(0, at).split("\n");
  const place = `line ${before.length}, column ${(before.at(-1) ?? "").length + 1}`;
  return at === text.length ? `${place}, where the text ends` : place;
}

/** The index of the first character that cannot stand where it does; the length of a text that ends too early. */
export function jsonMistakeAt(text: string): number | null {
  const scanner = new Scanner(text);
  return scanner.value() && scanner.end() ? null : scanner.at;
}

/** Recursive descent over the grammar of RFC 8259. Every method returns false after a mistake, which is then at `at`. */
class Scanner {
  at = 0;
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  value(): boolean {
    this.#take(BLANK);
    switch (this.#text[this.at]) {
      case "{":
        return this.#items("}", () => this.#member());
      case "[":
        return this.#items("]", () => this.value());
      case '"':
        return this.#string();
      default:
        return this.#take(NUMBER) || this.#take(LITERAL);
    }
  }

  end(): boolean {
    this.#take(BLANK);
    return this.at === this.#text.length;
  }

  #items(close: string, item: () => boolean): boolean {
    this.at++;
    if (this.#character(close)) return true;
    do {
      if (!item()) return false;
    } while (this.#character(","));
    return this.#character(close);
  }

  #member(): boolean {
    this.#take(BLANK);
    return this.#text[this.at] === '"' && this.#string() && this.#character(":") && this.value();
  }

  #string(): boolean {
    this.at++;
    while (this.at < this.#text.length) {
      const character = this.#text.charCodeAt(this.at);
      if (character === 0x22) {
        this.at++;
        return true;
      }
      if (character < 0x20) return false;
      if (character !== 0x5c) this.at++;
      else if (!this.#take(ESCAPE)) return false;
    }
    return false;
  }

  /** Goes behind `wanted`, and blanks before it, when it is next. */
  #character(wanted: string): boolean {
    this.#take(BLANK);
    if (this.#text[this.at] !== wanted) return false;
    this.at++;
    return true;
  }

  #take(pattern: RegExp): boolean {
    pattern.lastIndex = this.at;
    if (!pattern.test(this.#text)) return false;
    this.at = pattern.lastIndex;
    return true;
  }
}
