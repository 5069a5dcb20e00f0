import { createInterface } from "node:readline/promises";
import { type Readable, Writable } from "node:stream";
import { textOf } from "../local/input-text.ts";
import { type Line, linesIn } from "../local/long-lines.ts";
import type { GroveClient } from "./client.ts";

/** Styles of text. */
export type Style = "bold" | "dim" | "red" | "green" | "yellow";

const CODES: Readonly<Record<Style, number>> = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33 };
/** Characters that a terminal interprets, or that can disguise a text. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Results go to standard output, messages about the work to standard error. */
export interface Terminal {
  /** True when results go to a terminal that takes colours. */
  readonly colours: boolean;
  /** True when a person can watch and answer. */
  readonly interactive: boolean;
  out(line: string): void;
  /** A line about the work. */
  say(line: string): void;
  /** Shows the progress, over the previous text; null clears it. */
  progress(line: string | null): void;
  /** Asks a question and returns the typed text. */
  ask(question: string): Promise<string>;
  /** Returns all of standard input; at a terminal what is typed or pasted after the question, which is not echoed. */
  secret(question: string): Promise<string>;
  /** True when standard input is a file or another program. */
  readonly piped: boolean;
  /** The lines of standard input, one by one. */
  lines(): AsyncIterable<Line>;
  /** Characters in a line of the terminal that results go to; null: they go to a file or to another program. */
  readonly columns: number | null;
}

/** Thrown when a question is answered with Ctrl-C or Ctrl-D. */
export class Interrupted extends Error {}

/** Thrown when standard input is too long to read as a whole: a part of it must not be taken for all. */
export class InputTooLong extends Error {
  constructor() {
    super(`standard input has more than ${MAX_INPUT} bytes: give it in parts`);
  }
}

/** Parameters of every command. */
export interface Session {
  readonly client: GroveClient;
  readonly terminal: Terminal;
  /** Whether results are JSON. */
  readonly json: boolean;
}

/** Text without control characters: names of tokens are chosen by their creators, and must not control the terminal. */
export function harmless(text: string): string {
  return text.replace(UNPRINTABLE, "\u{fffd}");
}

/** Text in a style, on a terminal with colours. */
export function styled({ colours }: Pick<Terminal, "colours">, style: Style, text: string): string {
  return colours && text !== "" ? `\u001b[${CODES[style]}m${text}\u001b[0m` : text;
}

/** True when colours are wanted, by the conventions of NO_COLOR and of TERM. */
export function wantsColours(environment: NodeJS.ProcessEnv, isTerminal: boolean): boolean {
  return isTerminal && !environment.NO_COLOR && environment.TERM !== "dumb";
}

const GAP = "  ";

/** Narrowest column that a table is cut to. */
const MIN_WIDTH = 6;

/**
 * Lines of a table. The last column is not padded. At a terminal the widest columns are cut so that it fits.
 *
 * @param whole names of columns that are not cut, such as times.
 */
export function renderTable(
  terminal: Pick<Terminal, "colours" | "columns">,
  head: readonly string[],
  rows: readonly (readonly string[])[],
  whole: readonly string[] = [],
): string[] {
  const wanted = widthsOf(head, rows);
  const isCut = head.map((name) => !whole.includes(name));
  const widths = terminal.columns === null ? wanted : fitted(wanted, terminal.columns, isCut);
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, at) => (BY_THEIR_ENDS.has(head[at] ?? "") ? cutMiddle : cut)(cell, widths[at] ?? 0))
      .map((cell, at) => (at === cells.length - 1 ? cell : cell.padEnd(widths[at] ?? 0)))
      .join(GAP)
      .trimEnd();
  return [styled(terminal, "bold", line(head)), ...rows.map(line)];
}

function widthsOf(head: readonly string[], rows: readonly (readonly string[])[]): number[] {
  return head.map((name, at) => Math.max(name.length, ...rows.map((row) => row[at]?.length ?? 0)));
}

/** Width of a table whose columns are as narrow as possible, except the columns that are not cut. */
export function narrowest(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  whole: readonly string[],
): number {
  const widths = widthsOf(head, rows).map((width, at) =>
    whole.includes(head[at] ?? "") ? width : Math.min(width, MIN_WIDTH),
  );
  return lineOf(widths);
}

const lineOf = (widths: readonly number[]): number =>
  widths.reduce((sum, width) => sum + width, GAP.length * (widths.length - 1));

/** Makes the widest columns that may be cut narrower, one character after the other, until all fit into a line. */
function fitted(wanted: readonly number[], columns: number, isCut: readonly boolean[]): number[] {
  const widths = [...wanted];
  for (let over = lineOf(wanted) - columns; over > 0; over--) {
    const widest = Math.max(...widths.filter((_, at) => isCut[at]));
    if (widest <= MIN_WIDTH) break;
    const at = widths.findIndex((width, column) => isCut[column] && width === widest);
    widths[at] = widest - 1;
  }
  return widths;
}

/** The text, or its beginning and `…` when it is too long. */
function cut(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, Math.max(0, width - 1))}…`;
}

/** Columns of names, which are cut in the middle: names of one service begin alike, and differ at the end. */
const BY_THEIR_ENDS: ReadonlySet<string> = new Set(["NAME", "ROLE"]);

/** The text, or its beginning and end with `…` between them when it is too long. */
function cutMiddle(text: string, width: number): string {
  if (text.length <= width) return text;
  const end = Math.floor((width * 2) / 3);
  return `${text.slice(0, Math.max(0, width - 1 - end))}…${text.slice(text.length - end)}`;
}

/** The terminal, or the pipes, that this process was started with. */
export function processTerminal(): Terminal {
  const { stdin, stdout, stderr } = process;
  // A reader such as `head` may close the pipe early.
  stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit();
    // The command has done its work, but its output is lost.
    stderr.write(`standard output can't be written: ${error.code === "ENOSPC" ? "no space is left" : error.code}\n`);
    process.exit(1);
  });
  const interactive = stdin.isTTY === true && stderr.isTTY === true;
  return {
    colours: wantsColours(process.env, stdout.isTTY === true),
    interactive,
    out: (line) => void stdout.write(`${line}\n`),
    say: (line) => void stderr.write(`${line}\n`),
    progress: (line) => {
      // In a file, every update would be a line of its own.
      if (stderr.isTTY) stderr.write(line === null ? "\r\u001b[K" : `\r\u001b[K${line}`);
    },
    ask: async (question) => {
      try {
        return await typed(stdin, stderr, question);
      } catch (error) {
        // The next message must not be on the line of the question.
        stderr.write("\n");
        throw error;
      }
    },
    secret: async (question) => {
      if (!stdin.isTTY) return readAll(stdin);
      try {
        return await typedUnseen(stdin, stderr, question);
      } finally {
        stderr.write("\n");
      }
    },
    piped: !stdin.isTTY,
    lines: () => linesIn(stdin),
    columns: stdout.isTTY ? (stdout.columns ?? DEFAULT_COLUMNS) : null,
  };
}

const DEFAULT_COLUMNS = 80;
/** Most bytes of standard input that are read as a whole. */
const MAX_INPUT = 1_048_576;

/**
 * The line that is typed after a question.
 *
 * @param output gets the question and the echo.
 * @throws Interrupted without a line.
 */
export async function typed(input: Readable, output: Writable, question: string): Promise<string> {
  const lines = createInterface({ input, output, terminal: true });
  // When the input ends, the editor closes and never answers its question.
  const closed = new Promise<never>((_, reject) => lines.once("close", () => reject(new Interrupted())));
  try {
    return await Promise.race([lines.question(question).catch(() => closed), closed]);
  } finally {
    lines.close();
    await closed.catch(() => {});
  }
}

/** Asks a question, and reads a line without echoing it. @throws Interrupted without a line. */
export async function typedUnseen(input: Readable, output: Writable, question: string): Promise<string> {
  // The line editor would echo what is typed.
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  // The line editor turns the echo off when it starts. So it starts before the question is written: a text that is pasted
  // as soon as the question appears is not echoed.
  const line = typed(input, silent, "");
  output.write(question);
  return line;
}

/** All of an input. @throws InputTooLong, InputCompressed */
export async function readAll(input: Readable): Promise<string> {
  let text = "";
  for await (const piece of textOf(bounded(input))) text += piece;
  return text;
}

async function* bounded(input: Readable): AsyncGenerator<Buffer> {
  let length = 0;
  for await (const piece of input) {
    const bytes = Buffer.from(piece);
    length += bytes.length;
    if (length > MAX_INPUT) throw new InputTooLong();
    yield bytes;
  }
}
