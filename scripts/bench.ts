import { join } from "node:path";
import { HELP, parseBenchArguments } from "./bench/arguments.ts";
import type { Report } from "./bench/report/report.ts";
import { renderText } from "./bench/report/text.ts";
import { writeDocument } from "./bench/report/write.ts";
import { runBench } from "./bench/run.ts";
import { commandToRun } from "./local/command-line.ts";
import { PROJECT } from "./local/worker-definition.ts";

const say = (line: string): void => console.error(`bench: ${line}`);

async function main(): Promise<number> {
  const command = commandToRun(parseBenchArguments(process.argv.slice(2)), HELP, say);
  if (!command.ok) return command.error;
  try {
    const keep = command.value.write ? (part: Report) => writeDocument(join(PROJECT, "docs"), part) : () => {};
    const report = await runBench(command.value, say, keep);
    process.stdout.write(command.value.json ? `${JSON.stringify(report, null, 2)}\n` : renderText(report));
    return 0;
  } catch (error) {
    say(error instanceof Error ? error.message : String(error));
    return 1;
  }
}

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => process.exit(130));
process.exit(await main());
