import type { GroveClient } from "./client.ts";

/** How text is to look. */
export type Style = "bold" | "dim" | "red" | "green" | "yellow";

const CODES: Readonly<Record<Style, number>> = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33 };
/** Characters that a terminal interprets, or that make one line look like another. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Where the command writes: results to standard output, everything about its work to standard error. */
export interface Terminal {
  /** True when results go to a terminal that takes colours. */
  readonly colours: boolean;
  /** True when a person can watch and answer. */
  readonly interactive: boolean;
  out(line: string): void;
  /** A line about the work. */
  say(line: string): void;
  /** Shows how far the work is, in the place of what was shown before; null clears it. */
  progress(line: string | null): void;
  /** Asks, and gives what was typed. */
  ask(question: string): Promise<string>;
}

/** What every command works with. */
export interface Session {
  readonly client: GroveClient;
  readonly terminal: Terminal;
  /** Whether results are JSON. */
  readonly json: boolean;
}

/**
 * Text of unknown origin without the characters that a terminal interprets. Names of tokens are chosen by their makers.
 */
export function harmless(text: string): string {
  return text.replace(UNPRINTABLE, "\u{fffd}");
}

/** Text in a style, where the terminal has any. */
export function styled({ colours }: Pick<Terminal, "colours">, style: Style, text: string): string {
  return colours && text !== "" ? `\u001b[${CODES[style]}m${text}\u001b[0m` : text;
}

/** True when colours are wanted, by the conventions of NO_COLOR and of TERM. */
export function wantsColours(environment: NodeJS.ProcessEnv, isTerminal: boolean): boolean {
  return isTerminal && !environment.NO_COLOR && environment.TERM !== "dumb";
}
