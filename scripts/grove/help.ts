import { helpAsCalled, isBinary } from "../local/command-line.ts";
import { linesOf } from "../local/wrap-lines.ts";
import {
  COMMAND_NAMES,
  type CommandName,
  commandEntry,
  EVERYWHERE,
  everywhereOf,
  FILTER_NAMES,
  isCommand,
  type OptionEntry,
  optionsOf,
} from "./command-table.ts";

/** Characters in a line of the help without a terminal, and at least at a terminal. */
const COLUMNS = 80;
const MIN_COLUMNS = 60;
/** Where the description of a command begins. */
const INDENT = 23;

/** How a help is shown. */
interface Shown {
  /** Characters in a line; null: not at a terminal. */
  readonly columns: number | null;
  /** Replaces the names of commands by those with which this command was called. */
  readonly named?: (text: string) => string;
}

/** The help that a command line asks for: of its command, or of all. */
export function helpFor(argv: readonly string[], { columns, named = helpAsCalled }: Shown): string {
  const name = (argv[0] === "help" ? argv.slice(1) : argv).find(isCommand) ?? null;
  const width = Math.max(columns ?? COLUMNS, MIN_COLUMNS);
  const row = (head: string, about: string, depth: number): string => wrapped(head, named(about), depth, width);
  const paragraphs = [
    wrapped(named(`Usage: npm run -s grove -- ${name === null ? "COMMAND" : callOf(name)} [options]`), "", 0, width),
    ...(name === null ? [named(listOfCommands())] : [linesOfCommand(name, row).join("\n")]),
    ...(name !== null && commandEntry(name).filters ? [filterLines(row)] : []),
    [
      "Everywhere:",
      ...optionRows(name === null ? EVERYWHERE : everywhereOf(name), row, 1),
      row("--", "ends the options: before a word that begins with a dash", 1),
    ].join("\n"),
    ...(name !== null && hasTime(name) ? [wrapped("", TIMES, 0, width)] : []),
    wrapped("", environmentOf(name), 0, width),
    wrapped("", exitCodesOf(name), 0, width),
    named(name === null ? BEGINNINGS : `Example:\n  ${exampleOf(name)}`),
  ];
  return `${paragraphs.join("\n\n")}\n`;
}

/** One line for each command. */
function listOfCommands(): string {
  const lines = COMMAND_NAMES.map((name) => `  ${name.padEnd(INDENT - 2)}${commandEntry(name).brief}`);
  // In the package these are programs of the same binary, with their own help.
  const scripts = isBinary() ? [] : ["", "Scripts of their own: npm run serve, backup, upgrade, deploy (-- --help)"];
  return ["Commands (npm run -s grove -- help COMMAND shows its options):", ...lines, ...scripts].join("\n");
}

const TIMES =
  "T is a time: 2026-11-22T01:30:00Z (RFC 3339), 2026-11-22 (00:00 UTC), seconds since 1970, or a duration such as 24h, 30m or 7d, by this machine's clock: before now, or after now for --ends-after and --ends-before.";
const ADDRESS = "VAULT_ADDR is the address of the server (default http://127.0.0.1:8200)";

function environmentOf(name: CommandName | null): string {
  const isTokenUsed = name === null || commandEntry(name).needsNoToken !== true;
  const token = isTokenUsed
    ? ", VAULT_TOKEN the token; a refusal names the right that it lacks"
    : "; VAULT_TOKEN is not used";
  return `${ADDRESS}${token}. Without both, BAO_ADDR and BAO_TOKEN are read. VAULT_CACERT is a file with the authority of its certificate. NO_COLOR turns colours off.`;
}

/** Where to begin, in the help of all commands. */
const BEGINNINGS = `Examples:
  npm run -s grove -- doctor    when something is wrong
  npm run -s grove -- find      when a token may have leaked`;

const exampleOf = (name: CommandName): string => `npm run -s grove -- ${commandEntry(name).example}`;

const ALL_CODES =
  "0 done, 1 refused, failed or something found, 2 the command line or VAULT_ADDR is wrong; of apply 2 is a difference that --check found, and of find 3 a text that could not be judged";

/** The exit codes of a command, or what is common to those of all. */
function exitCodesOf(name: CommandName | null): string {
  if (name === null) return `Exit codes: ${ALL_CODES}.`;
  const { codes = "0 done, 1 refused or failed, 2 the command line or VAULT_ADDR is wrong" } = commandEntry(name);
  return `Exit codes: ${codes}.`;
}

const hasTime = (name: CommandName): boolean => Object.values(optionsOf(name)).some((option) => option.time);

type Row = (head: string, about: string, depth: number) => string;

function callOf(name: CommandName): string {
  const { word } = commandEntry(name);
  return word === undefined ? name : `${name} ${word}`;
}

function linesOfCommand(name: CommandName, row: Row): string[] {
  const { about, parts = {}, options } = commandEntry(name);
  const own = Object.fromEntries(Object.entries(options).filter(([option]) => !isFilterOf(name, option)));
  return [
    row(callOf(name), about, 1),
    ...optionRows(own, row, 2),
    ...Object.entries(parts).map(([words, what]) => row(words, what, 2)),
  ];
}

const isFilterOf = (name: CommandName, option: string): boolean =>
  commandEntry(name).filters === true && FILTER_NAMES.has(option);

function filterLines(row: Row): string {
  const filters = Object.entries(optionsOf("tokens")).filter(([option]) => FILTER_NAMES.has(option));
  return [
    "Filters of tokens, revoke and contain; a token has to match all that are given:",
    ...optionRows(Object.fromEntries(filters), row, 1),
  ].join("\n");
}

function optionRows(options: Readonly<Record<string, OptionEntry>>, row: Row, depth: number): string[] {
  return Object.entries(options).map(([name, { value, about }]) =>
    row(value === undefined ? `--${name}` : `--${name} ${value}`, about, depth),
  );
}

/** A head with its description beside it, or below it where the head is too long. */
function wrapped(head: string, about: string, depth: number, width: number): string {
  const start = " ".repeat(2 * depth) + head;
  const margin = head === "" || about === "" ? "" : " ".repeat(INDENT - 2 + 2 * depth);
  const isBeside = start.length + 2 <= margin.length;
  const [first = "", ...others] = about === "" ? [""] : linesOf(about, width - margin.length);
  const beside = about === "" || head === "" ? start + first : isBeside ? start.padEnd(margin.length) + first : start;
  const below = beside === start && about !== "" ? [first, ...others] : others;
  return [beside, ...below.map((line) => margin + line)].join("\n");
}
