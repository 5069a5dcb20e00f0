import type { Readable } from "node:stream";
import { textOf } from "./input-text.ts";

/** A line of an input, or a piece of a very long line. */
export interface Line {
  /** From 1. */
  readonly number: number;
  readonly text: string;
}

/** Most characters of a piece, many times the length of a token. */
const MAX_LINE = 262_144;
/** Characters of the end of a piece that the next piece repeats, so that no token is cut in two. */
const OVERLAP = 32_768;

/** The lines of an input of any length. A very long line is given in pieces that overlap. @throws InputCompressed */
export async function* linesIn(input: Readable | AsyncIterable<Buffer>): AsyncGenerator<Line> {
  let [number, rest] = [1, ""];
  for await (const piece of textOf(input)) {
    const lines = (rest + piece).split("\n");
    rest = lines.pop() ?? "";
    for (const text of lines) {
      yield { number, text: withoutReturn(text) };
      number++;
    }
    while (rest.length > MAX_LINE) {
      yield { number, text: rest.slice(0, MAX_LINE) };
      rest = rest.slice(MAX_LINE - OVERLAP);
    }
  }
  if (rest !== "") yield { number, text: withoutReturn(rest) };
}

const withoutReturn = (line: string): string => (line.endsWith("\r") ? line.slice(0, -1) : line);
