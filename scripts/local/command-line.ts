import { basename } from "node:path";
import { type ParseArgsConfig, parseArgs } from "node:util";
import { err, ok, type Result } from "../../src/base/result.ts";
import { hasToken } from "../grove/secret-detection.ts";
import { didYouMean } from "./did-you-mean.ts";
import { codeOf } from "./error-code.ts";
import { sourceCommit, sourceVersion } from "./source-version.ts";
import { helpInLines } from "./wrap-lines.ts";

type Options = NonNullable<ParseArgsConfig["options"]>;
type Words<T extends Options> = { options: T; args: string[]; allowPositionals: true };

/** A request for the help or the version. */
export interface Asked {
  readonly show: "help" | "version";
}

/** Why a script does not run: a mistake in the command line, for the operator; or what was asked for instead. */
export type NotRun = string | Asked;

/** The value that a reader of a command line returns. */
export type CommandOf<Read extends (...given: never[]) => Result<unknown, NotRun>> = Readonly<
  ReturnType<Read> extends Result<infer Command, NotRun> ? Command : never
>;

const ASKED: Readonly<Record<string, Asked>> = {
  "--help": { show: "help" },
  "-h": { show: "help" },
  "--version": { show: "version" },
};

/**
 * Reads flags and at most `mostPositionals` other words.
 *
 * @param meant the options that may be suggested for a mistyped one.
 */
export function readWords<const T extends Options>(
  argv: readonly string[],
  options: T,
  mostPositionals = 0,
  meant: readonly string[] = Object.keys(options),
): Result<ReturnType<typeof parseArgs<Words<T>>>, NotRun> {
  const token = tokenProblem(argv);
  if (token !== null) return err(token);
  const end = argv.indexOf("--");
  const asked = (end === -1 ? argv : argv.slice(0, end)).find((word) => Object.hasOwn(ASKED, word));
  if (asked !== undefined && ASKED[asked]) return err(ASKED[asked]);
  const args = unambiguous(argv, options, meant);
  if (!args.ok) return args;
  const read = parseArgs<Words<T>>({ args: args.value, options, allowPositionals: true });
  const stray = read.positionals[mostPositionals];
  return stray === undefined ? ok(read) : err(`unexpected word "${stray}"`);
}

/**
 * The problem of a command line that has a token in it, found before any word is used: other users of the machine see the
 * command line, shells keep it, and messages and URLs would repeat it. null: it has no token.
 *
 * @param reader the command that reads a token in another way.
 */
export function tokenProblem(argv: readonly string[], reader = "find"): string | null {
  if (!argv.some(hasToken)) return null;
  const command = asCalled(reader);
  return `this looks like a token, which no command line takes: it is in the history of the shell now, and others on this machine may have seen it. Take it out of the history and treat it as leaked; ${command} reads it from a file (${command} < FILE), or typed when it asks`;
}

/**
 * The command line in a form that parseArgs never refuses, or its problem in our words, as the messages of parseArgs are
 * about its own syntax. A value may begin with one dash, as in `--sort -end`, because -h is the only short option.
 */
function unambiguous(argv: readonly string[], options: Options, meant: readonly string[]): Result<string[], string> {
  const { tokens } = parseArgs({ args: [...argv], options, allowPositionals: true, strict: false, tokens: true });
  const flags: string[] = [];
  const words: string[] = [];
  for (const token of tokens) {
    if (token.kind === "positional") words.push(token.value);
    if (token.kind !== "option") continue;
    const { name, rawName, value, inlineValue } = token;
    if (!Object.hasOwn(options, name) || rawName !== `--${name}`) {
      const typed = rawName.startsWith("--") ? rawName : (argv[token.index] ?? rawName);
      const known = [...meant, "help", "version"].map((option) => `--${option}`);
      return err(`there is no option ${typed}${didYouMean(typed, known)}`);
    }
    if (options[name]?.type === "boolean") {
      if (value !== undefined) return err(`${rawName} takes no value`);
      flags.push(rawName);
      continue;
    }
    if (value === undefined) return err(`${rawName} needs a value`);
    if (!inlineValue && value.startsWith("--")) {
      return err(
        `${rawName} needs a value before ${value}; one that begins with two dashes is written ${rawName}=VALUE`,
      );
    }
    flags.push(`${rawName}=${value}`);
  }
  return ok([...flags, "--", ...words]);
}

/** `1.0.0-rc.1+fcd9c58a`: the release of this program, with the commit if that is known. */
export function versionOf(): string {
  return sourceVersion(sourceCommit());
}

/** The programs of the package's binary besides its commands. */
export const PROGRAMS = ["new", "serve", "deploy", "backup", "upgrade", "gateway"] as const;

export type Program = (typeof PROGRAMS)[number];

/** True for the binary of the package. */
export function isBinary(program = process.argv[1] ?? ""): boolean {
  return /^grove(\.js)?$/.test(basename(program));
}

/** The path of the package's documents, from the folder that it is installed in. */
const PACKAGED_DOCS = "node_modules/@grove-tokens/grove/docs/";

/**
 * Help is written for a clone. Called as the binary of the package, this replaces the commands by the name of the binary,
 * and the paths of documents by those of the package.
 *
 * @param program path of the program that was called.
 * @param script name of the npm script that called it. It is "npx" when npx did, which finds the binary where a shell
 *   does not.
 */
export function helpAsCalled(
  help: string,
  program = process.argv[1] ?? "",
  script = process.env.npm_lifecycle_event ?? "",
): string {
  if (!isBinary(program)) return help;
  const documented = help.replaceAll("docs/", PACKAGED_DOCS);
  // A folder that "grove new" made has the scripts of a clone.
  if (script !== "" && script !== "npx") return documented;
  const name = script === "npx" ? "npx grove" : "grove";
  return documented.replace(/npm run (?:-s )?grove --/g, name).replace(/npm run (?:-s )?(\w+)(?: --)?/g, `${name} $1`);
}

/** A command of grove to be pasted, which begins as this command was called. */
export function asCalled(words: string): string {
  return helpAsCalled(`npm run -s grove -- ${words}`);
}

/** Makes the commands in a text of the server ready to be pasted: the server does not know how this command is called. */
export function commandsAsCalled(text: string): string {
  return text.replace(/(?<![-\w./])grove (?=[a-z])/g, asCalled(""));
}

/** Characters in a line of the help of a program. */
const HELP_COLUMNS = 80;

/** The help of a program, with commands as they are called, in lines. */
export function shownHelp(help: string): string {
  return helpInLines(helpAsCalled(help), HELP_COLUMNS);
}

/**
 * Runs a script. Help and version go to standard output.
 *
 * @param help written for a clone; a function returns the text that is shown.
 * @param say writes a line for the operator.
 * @param run returns the exit code.
 * @param mistaken the exit code for a mistake in the command line.
 * @param listed what --help lists for this command line.
 * @returns the exit code.
 */
export async function runCommand<Command>(
  parsed: Result<Command, NotRun>,
  help: string | (() => string),
  say: (line: string) => void,
  run: (command: Command) => Promise<number>,
  mistaken = 2,
  listed: "commands" | "options" = "options",
): Promise<number> {
  if (parsed.ok) {
    try {
      return await run(parsed.value);
    } catch (error) {
      if (!isOfFile(error)) throw error;
      say(fileFailure(error));
      return 1;
    }
  }
  if (typeof parsed.error !== "string") {
    process.stdout.write(parsed.error.show === "help" ? textOf(help) : `Grove ${versionOf()}\n`);
    return 0;
  }
  say(parsed.error);
  say(`--help lists the ${listed}`);
  return mistaken;
}

/** True for a failed system call on a file or a directory, which is not a bug of the program. */
export function isOfFile(error: unknown): error is Error {
  const code = codeOf(error);
  if (!(error instanceof Error) || !("syscall" in error) || code === undefined) return false;
  // The error of a write names no file.
  return "path" in error || OF_DISK.has(code);
}

/** The text for the operator about a failed system call on a file. */
export function fileFailure(error: Error): string {
  const code = codeOf(error) ?? "";
  const reason = FILE_FAILURES[code];
  // A copy fails for what is full at its target.
  const at = OF_DISK.has(code) && "dest" in error ? error.dest : "path" in error ? error.path : "";
  const path = typeof at === "string" ? at : "";
  if (reason === undefined || (path === "" && !OF_DISK.has(code))) return error.message;
  return path === "" ? reason : `${path}: ${reason}`;
}

const FILE_FAILURES: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file or directory",
  ENOTDIR: "a part of the path is no directory",
  EISDIR: "it is a directory",
  EEXIST: "something is there already",
  EACCES: "this user may not open it",
  EPERM: "this user may not do that",
  EROFS: "its file system is read-only",
  ENOSPC: "no space is left on the disk",
  EDQUOT: "the quota of this user on the disk is used up",
  EIO: "the disk does not read or write",
};

/** Failures of the disk as a whole. */
const OF_DISK: ReadonlySet<string> = new Set(["ENOSPC", "EDQUOT", "EIO", "EROFS"]);

function textOf(help: string | (() => string)): string {
  return typeof help === "string" ? shownHelp(help) : help();
}
