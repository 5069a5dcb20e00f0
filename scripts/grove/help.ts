import { HELP, optionsOfCommands } from "./arguments.ts";

/**
 * The help that a command line asks for: of its command, or of all. A command's own part of the text is the lines from
 * its name to the next name; the paragraphs after the commands are the filters, and what holds everywhere.
 */
export function helpFor(argv: readonly string[]): string {
  const [usage = "", commands = "", filters = "", ...everywhere] = HELP.split("\n\n");
  const parts = commands.split(/\n(?= {2}\S)/);
  const name = argv.find((word) => parts.some((part) => nameOf(part) === word));
  const own = parts.find((part) => nameOf(part) === name);
  if (name === undefined || own === undefined) return HELP;
  const shown = optionsOfCommands()[name]?.includes("search") ? [own, filters] : [own];
  return [usage.replace("COMMAND", callOf(own)), ...shown, ...everywhere].join("\n\n");
}

/** A command with the words that it takes, which two spaces divide from what it does. */
function callOf(part: string): string {
  return part.trim().split("  ")[0] ?? "";
}

function nameOf(part: string): string {
  return part.trim().split(" ")[0] ?? "";
}
