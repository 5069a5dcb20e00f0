import type { Line } from "../../local/long-lines.ts";
import { credentialsIn, wholeTokensIn } from "../secret-detection.ts";

/** Most characters of joined lines. */
const MAX_JOINED = 65_536;
/** By how much lines after the first may be indented. */
const INDENT = 8;
/** The end of a line that a token or base64 may have, and the beginning of the line that continues it. */
const LINE_END = /[\w.+/=-]{8,}(?=\\?["']?$)/;
const CONTINUATION = /^(?:[+>|*#]\s*)?["']?([\w.+/=-]+)/;
const LINE_REST = /^\\?["',;]*$/;

/** A line that begins with a credential continues none. */
const beginsText = (line: string): boolean => credentialsIn(line).some((one) => line.startsWith(one));

/**
 * A text that is divided over several lines, as terminals, mails, logs and encoders of base64 do. All but the first and
 * the last line have nothing else in them.
 */
export class WrappedText {
  readonly number: number;
  /** What has the form of a credential at the end of its first line; "" for nothing. */
  readonly alone: string;
  readonly #lines: string[];
  /** The part of each line that belongs to the text. */
  readonly #runs: string[];
  #length = 0;
  #isOpen = true;

  private constructor({ number, text }: Line, end: string) {
    this.number = number;
    this.alone = credentialsIn(text).find((one) => end.endsWith(one)) ?? "";
    this.#lines = [text];
    this.#runs = [end];
  }

  /** The text that begins at the end of a line; null when it has a whole token there, or nothing. */
  static beginningIn(line: Line): WrappedText | null {
    const end = LINE_END.exec(line.text)?.[0];
    if (end === undefined) return null;
    const wrapped = new WrappedText(line, end);
    const { alone } = wrapped;
    // A batch token has no fixed length. A JWT can lack only a part of its signature, which is not verified.
    const isWhole = /^(?:hv|e[wy])/.test(alone) || (!alone.startsWith("b.") && wholeTokensIn(alone).length > 0);
    return isWhole ? null : wrapped;
  }

  /** Takes a line that continues the text. False: the text has ended. */
  takes({ number, text }: Line, isSecret: boolean): boolean {
    const [before = "", run] = CONTINUATION.exec(text) ?? [];
    const isWhole = LINE_REST.test(text.slice(before.length));
    const [first = ""] = this.#lines;
    const isNext = this.#isOpen && !isSecret && number === this.number + this.#lines.length && !beginsText(text);
    // What is divided by its width has no line that is longer than the first.
    if (!isNext || run === undefined || (isWhole && text.length > first.length + INDENT)) return false;
    this.#lines.push(text);
    this.#runs.push(run);
    this.#length += run.length;
    this.#isOpen = isWhole && this.#length < MAX_JOINED;
    return this.#isOpen;
  }

  /**
   * What to ask about: what its first line has alone, and what only joined lines have.
   *
   * @param textsIn finds what has the form of a credential.
   */
  candidates(textsIn: (joined: string) => readonly string[]): (readonly string[])[] {
    const { length } = this.#runs;
    // The first and the last line may belong to something else.
    const parts = [...new Set([2, 3, length - 1, length])].flatMap((end) =>
      [0, 1].flatMap((begin) => (end <= length && end - begin > 1 ? [this.#runs.slice(begin, end).join("")] : [])),
    );
    const across = new Set(parts.flatMap(textsIn));
    for (const one of across) if (this.#lines.some((line) => line.includes(one))) across.delete(one);
    const own = [...across].filter((one) => this.alone !== "" && one.startsWith(this.alone));
    const others = [...across].filter((one) => !own.includes(one)).map((one) => [one]);
    return this.alone === "" ? others : [[this.alone, ...own], ...others];
  }
}
