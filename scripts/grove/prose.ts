import { linesOf } from "../local/wrap-lines.ts";
import { type Style, styled, type Terminal } from "./terminal.ts";

/** A piece of a text, with its style. */
export interface Part {
  readonly text: string;
  readonly style?: Style;
}

/**
 * A text at a terminal, broken into lines; for a file or another program it is one line.
 *
 * @param indent before each line but the first.
 * @param first before the first line.
 */
export function prose({ columns }: Pick<Terminal, "columns">, text: string, indent = "", first = indent): string[] {
  if (columns === null) return [first + text];
  const width = columns - Math.max(indent.length, first.length);
  return linesOf(text, width).map((line, at) => (at === 0 ? first : indent) + line);
}

/** Shows a message at a terminal in lines that fit it. A command that is to be copied is not broken. */
export function sayProse(terminal: Terminal, text: string, style?: Style): void {
  for (const line of prose(terminal, text)) terminal.say(style === undefined ? line : styled(terminal, style, line));
}

/**
 * Parts, one after the other, in lines of a terminal.
 *
 * @param width characters in a line; null: no limit.
 */
export function flow(terminal: Pick<Terminal, "colours">, parts: readonly Part[], width: number | null): string[] {
  const lines = width === null ? [parts] : filled(parts, width);
  return lines.map((line) =>
    line.map(({ text, style }) => (style === undefined ? text : styled(terminal, style, text))).join(" "),
  );
}

function filled(parts: readonly Part[], width: number): Part[][] {
  const lines: Part[][] = [];
  let length = 0;
  for (const { text, ...style } of parts) {
    let isBegun = false;
    for (const word of text.split(" ").filter((one) => one !== "")) {
      const last = lines.at(-1);
      const fits = last !== undefined && length + 1 + word.length <= width;
      const before = last?.at(-1);
      if (!fits) lines.push([{ text: word, ...style }]);
      else if (isBegun && before) last[last.length - 1] = { ...before, text: `${before.text} ${word}` };
      else last.push({ text: word, ...style });
      length = fits ? length + 1 + word.length : word.length;
      isBegun = true;
    }
  }
  return lines;
}
