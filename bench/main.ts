import { commandToRun } from "../scripts/local/command-line.ts";
import { HELP, parseBenchArguments } from "./arguments.ts";
import { runBench } from "./run.ts";

const say = (line: string): void => console.error(`bench: ${line}`);

async function main(): Promise<number> {
  const command = commandToRun(parseBenchArguments(process.argv.slice(2)), HELP, say);
  if (!command.ok) return command.error;
  try {
    await runBench(command.value, say);
    return 0;
  } catch (error) {
    say(error instanceof Error ? error.message : String(error));
    return 1;
  }
}

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => process.exit(130));
process.exit(await main());
