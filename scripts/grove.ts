import { processTerminal } from "./grove/process-terminal.ts";
import { runGrove } from "./grove/run.ts";

process.exitCode = await runGrove(process.argv.slice(2), process.env, processTerminal());
