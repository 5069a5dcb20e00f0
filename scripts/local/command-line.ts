import { err, ok, type Result } from "../../src/base/result.ts";

/**
 * What the words of a command line ask for, or the exit status of a script that has nothing to do: 0 when it was asked for its
 * help, which goes to standard output, and 2 for words that it does not understand.
 *
 * @param say writes a line for whoever started the script.
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
