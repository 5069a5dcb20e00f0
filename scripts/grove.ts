import { parseGroveArguments } from "./grove/arguments.ts";
import { isCommand } from "./grove/command-table.ts";
import { helpFor } from "./grove/help.ts";
import { runGrove } from "./grove/run-command.ts";
import { processTerminal } from "./grove/terminal.ts";
import { isBinary, PROGRAMS, runCommand } from "./local/command-line.ts";

const terminal = processTerminal();
const say = (line: string): void => terminal.say(`grove: ${line}`);

const argv = process.argv.slice(2);

// Of `apply --check`, the exit code 2 means differences, so a mistake in its command line is 1.
const mistaken = argv.includes("apply") ? 1 : 2;

process.exitCode = await runCommand(
  parseGroveArguments(argv, Date.now(), isBinary() ? PROGRAMS : []),
  () => helpFor(argv, terminal),
  say,
  (command) => runGrove(command, process.env, terminal),
  mistaken,
  argv.some(isCommand) ? "options" : "commands",
);
