import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { PROJECT } from "../local/worker-definition.ts";
import type { BenchCommand } from "./arguments.ts";
import type { Bench } from "./cases/bench.ts";
import { secondsSince } from "./cases/beside.ts";
import { LoadProcess } from "./load/process.ts";
import { PARTS } from "./parts.ts";
import { describeMachine } from "./report/machine.ts";
import { mergeReports, type PartRun, type Report } from "./report/report.ts";
import { measureSync } from "./report/sync-time.ts";
import { buildGrove } from "./servers/grove.ts";

/**
 * Runs what the command line asks for.
 *
 * @param measured hears of each part when it is over, so that an end in the middle loses one part at most.
 */
export async function runBench(
  command: BenchCommand,
  say: (line: string) => void,
  measured: (part: Report) => void,
): Promise<Report> {
  const root = resolve(command.directory ?? tmpdir());
  mkdirSync(root, { recursive: true });
  const directory = mkdtempSync(join(root, "grove-bench-"));
  // Also when the bench is stopped in the middle; its servers end with it by themselves.
  process.on("exit", () => rmSync(directory, { recursive: true, force: true }));
  const load = new LoadProcess();
  try {
    say(`data in ${directory}`);
    say("building the Worker");
    const { rounds, seconds } = command;
    const build = await buildGrove(directory);
    const commit = commitOf();
    let report: Report = { runs: {} };
    for (const name of command.cases) {
      const data = join(directory, name);
      mkdirSync(data);
      const machine = describeMachine(data, measureSync(data));
      const bench: Bench = { build, load, directory: data, rounds, seconds, say };
      const began = performance.now();
      const figures = await PARTS[name](bench, command);
      const run: PartRun = {
        date: new Date().toISOString(),
        commit,
        machine,
        rounds,
        seconds,
        tookSeconds: secondsSince(began),
      };
      const part = { ...figures, runs: Object.fromEntries(Object.keys(figures).map((key) => [key, run])) };
      say(`${name}: took ${Math.round(secondsSince(began))} s`);
      measured(part);
      report = mergeReports(report, part);
      rmSync(data, { recursive: true, force: true });
    }
    return report;
  } finally {
    load.stop();
  }
}

function commitOf(): string {
  try {
    return execFileSync("git", ["rev-parse", "--short", "HEAD"], { cwd: PROJECT, encoding: "utf8" }).trim();
  } catch {
    return "";
  }
}
