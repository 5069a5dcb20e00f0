import { type ParseArgsConfig, parseArgs } from "node:util";
import { err, ok, type Result } from "../../src/base/result.ts";

type Options = NonNullable<ParseArgsConfig["options"]>;
type Words<T extends Options> = { options: T; args: string[]; allowPositionals: true };

/** Reads a command line of flags and other words; the error names what is wrong with it. */
export function readWords<const T extends Options>(
  argv: readonly string[],
  options: T,
): Result<ReturnType<typeof parseArgs<Words<T>>>, string> {
  try {
    return ok(parseArgs<Words<T>>({ args: [...argv], options, allowPositionals: true }));
  } catch (error) {
    // parseArgs reports a user's mistake only by throwing; the rest of its text is advice about its own syntax.
    return err(error instanceof Error ? (error.message.split(". ")[0] ?? error.message) : String(error));
  }
}

/**
 * What the words of a command line ask for, or the exit status of a script that has nothing to do: 0 when it was asked for its
 * help, which goes to standard output, and 2 for words that it does not understand.
 *
 * @param say writes a line for the operator.
 */
export function commandToRun<Command extends { readonly kind: string }>(
  parsed: Result<Command, string>,
  help: string,
  say: (line: string) => void,
): Result<Exclude<Command, { readonly kind: "help" }>, number> {
  if (!parsed.ok) {
    say(parsed.error);
    say("--help lists the options");
    return err(2);
  }
  if (!isToRun(parsed.value)) {
    process.stdout.write(help);
    return err(0);
  }
  return ok(parsed.value);
}

function isToRun<Command extends { readonly kind: string }>(
  command: Command,
): command is Exclude<Command, { readonly kind: "help" }> {
  return command.kind !== "help";
}
