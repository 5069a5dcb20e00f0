import { runCommand } from "../scripts/local/command-line.ts";
import { type BenchCommand, HELP, parseBenchArguments } from "./arguments.ts";
import { runBench } from "./run.ts";

const say = (line: string): void => console.error(`bench: ${line}`);

async function measure(command: BenchCommand): Promise<number> {
  try {
    await runBench(command, say);
    return 0;
  } catch (error) {
    say(error instanceof Error ? error.message : String(error));
    return 1;
  }
}

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => process.exit(130));
process.exit(await runCommand(parseBenchArguments(process.argv.slice(2)), HELP, say, measure));
