import { type ParseArgsConfig, parseArgs } from "node:util";
import { err, ok, type Result } from "../../src/base/result.ts";

type FlagDefinitions = NonNullable<ParseArgsConfig["options"]>;
type FlagValues<T extends FlagDefinitions> = ReturnType<typeof parseArgs<{ options: T; args: string[] }>>["values"];

/** Reads a command line that has only flags; the error names what is wrong with it. */
export function readFlags<const T extends FlagDefinitions>(
  argv: readonly string[],
  options: T,
): Result<FlagValues<T>, string> {
  try {
    return ok(parseArgs<{ options: T; args: string[] }>({ args: [...argv], options }).values);
  } catch (error) {
    // parseArgs reports a user's mistake only by throwing; the rest of its text is advice about its own syntax.
    return err(error instanceof Error ? (error.message.split(". ")[0] ?? error.message) : String(error));
  }
}
