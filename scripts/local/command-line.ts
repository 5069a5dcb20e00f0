import { basename } from "node:path";
import { type ParseArgsConfig, parseArgs } from "node:util";
import { err, ok, type Result } from "../../src/base/result.ts";

type Options = NonNullable<ParseArgsConfig["options"]>;
type Words<T extends Options> = { options: T; args: string[]; allowPositionals: true };

/** Why a script does not run: a mistake in the command line, for the operator; null for `--help`. */
export type NotRun = string | null;

/** The value that a reader of a command line returns. */
export type CommandOf<Read extends (...given: never[]) => Result<unknown, NotRun>> = Readonly<
  ReturnType<Read> extends Result<infer Command, NotRun> ? Command : never
>;

/** Reads flags and at most `mostPositionals` other words. */
export function readWords<const T extends Options>(
  argv: readonly string[],
  options: T,
  mostPositionals = 0,
): Result<ReturnType<typeof parseArgs<Words<T>>>, NotRun> {
  if (argv.includes("--help") || argv.includes("-h")) return err(null);
  try {
    const read = parseArgs<Words<T>>({ args: [...argv], options, allowPositionals: true });
    const stray = read.positionals[mostPositionals];
    return stray === undefined ? ok(read) : err(`Unexpected argument '${stray}'`);
  } catch (error) {
    // parseArgs reports a user's mistake only by throwing; the rest of its text is advice about its own syntax.
    return err(error instanceof Error ? (error.message.split(". ")[0] ?? error.message) : String(error));
  }
}

/** The documents of the package, from the folder that it is installed in. */
const PACKAGED_DOCS = "node_modules/@grove-tokens/grove/docs/";

/**
 * Help is written for a clone. Where the binary of the package was called, it names that, and the documents of the package.
 *
 * @param program path of the program that was called.
 */
export function helpAsCalled(help: string, program = process.argv[1] ?? ""): string {
  if (!/^grove(\.js)?$/.test(basename(program))) return help;
  const named = help
    .replace(/npm run (?:-s )?grove --/g, "grove")
    .replace(/npm run (?:-s )?(\w+)(?: --)?/g, "grove $1");
  return named.replaceAll("docs/", PACKAGED_DOCS);
}

/**
 * Runs a script. Its help goes to standard output.
 *
 * @param say writes a line for the operator.
 * @param run returns the exit code.
 * @param mistaken the exit code for a mistake in the command line.
 * @returns the exit code.
 */
export async function runCommand<Command>(
  parsed: Result<Command, NotRun>,
  help: string,
  say: (line: string) => void,
  run: (command: Command) => Promise<number>,
  mistaken = 2,
): Promise<number> {
  if (parsed.ok) return run(parsed.value);
  if (parsed.error === null) {
    process.stdout.write(helpAsCalled(help));
    return 0;
  }
  say(parsed.error);
  say("--help lists the options");
  return mistaken;
}
