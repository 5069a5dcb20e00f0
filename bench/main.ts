import { runCommand } from "../scripts/local/command-line.ts";
import { HELP, parseBenchArguments } from "./arguments.ts";
import { runBench } from "./run.ts";

const say = (line: string): void => console.error(`bench: ${line}`);

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => process.exit(130));
const parsed = parseBenchArguments(process.argv.slice(2));
process.exit(await runCommand(parsed, HELP, say, async (command) => ((await runBench(command, say)) ? 0 : 1)));
