import { HELP, parseGroveArguments } from "./grove/arguments.ts";
import { runGrove } from "./grove/run.ts";
import { processTerminal } from "./grove/terminal.ts";
import { runCommand } from "./local/command-line.ts";

const terminal = processTerminal();
const say = (line: string): void => terminal.say(`grove: ${line}`);

process.exitCode = await runCommand(parseGroveArguments(process.argv.slice(2)), HELP, say, (command) =>
  runGrove(command, process.env, terminal),
);
