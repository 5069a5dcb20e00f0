import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { runCommand } from "../scripts/local/command-line.ts";
import { sourceCommit } from "../scripts/local/source-version.ts";
import { type BenchCommand, type CaseName, HELP, parseBenchArguments, type RunningServer } from "./arguments.ts";
import type { Bench, CaseFigures, LargeInstallation, Measured } from "./case.ts";
import { measureAfterCreations } from "./cases/after-creations.ts";
import { measureCleanUps, measureDevCleanUps } from "./cases/clean-ups.ts";
import { measureCluster } from "./cases/cluster.ts";
import { measureConsole } from "./cases/console.ts";
import { measureIncident } from "./cases/incident.ts";
import { measureLoad } from "./cases/load.ts";
import { measureOperations } from "./cases/operations.ts";
import { renderCase, type StoredFigures, storeFigures } from "./figures.ts";
import { describeMachine } from "./machine.ts";
import { plantForest } from "./seed/forest.ts";
import { NO_USAGE, newSecrets, temporaryDirectory, usageOf } from "./servers/serve.ts";

interface Case {
  readonly measure: (bench: Bench) => Promise<CaseFigures>;
  /** Selects the installation sizes for this case from `--tokens`. Absent: the case creates its own tokens. */
  readonly sizes?: (tokens: readonly number[]) => readonly number[];
}

const say = (line: string): void => console.error(`bench: ${line}`);

const MEASURE: Readonly<Record<CaseName, Case>> = {
  operations: { measure: measureOperations },
  "after-creations": { measure: measureAfterCreations },
  load: { measure: measureLoad },
  console: { measure: measureConsole, sizes: (tokens) => tokens.slice(0, 1) },
  incident: { measure: measureIncident, sizes: (tokens) => tokens },
  "clean-ups": { measure: measureCleanUps, sizes: (tokens) => tokens.slice(-1) },
  "dev-clean-ups": { measure: measureDevCleanUps },
  cluster: { measure: measureCluster },
};

/** Share of a large installation's tokens that is in its largest tree. */
const LARGEST_SHARE = 0.1;
/** Mean number of tokens in the other trees. */
const TREE_TOKENS = 100;

/**
 * Runs the selected cases. Prints the figures of each case when it ends, and stores them with `--write`.
 *
 * @returns the exit code: 1 if a case failed, which the remaining cases survive, or if another server's process can't be read
 */
async function runBench(command: BenchCommand): Promise<number> {
  const { rounds, seconds, loadSeconds, options } = command;
  for (const other of [command.against, command.audited]) {
    // Its CPU time would be 0, and every ratio to it infinite.
    if (other !== null && usageOf(other.pid) === NO_USAGE) {
      say(`process ${other.pid} of ${other.url} can't be read`);
      return 1;
    }
  }
  const directory = temporaryDirectory("bench", command.directory);
  const machine = describeMachine(directory);
  // Read once, because stored figures modify the working tree and thereby the commit's description.
  const about = { date: new Date().toISOString().slice(0, 10), commit: sourceCommit(), machine, options };
  const against = otherServer(command.against);
  const audited = otherServer(command.audited);
  const { before } = command;
  const planted = new Map<number, Promise<LargeInstallation>>();
  const forestOf = (tokens: number) => {
    const forest = planted.get(tokens) ?? plant(join(directory, `forest-${tokens}`), tokens);
    planted.set(tokens, forest);
    return forest;
  };
  let code = 0;
  for (const name of command.cases) {
    const { measure, sizes = () => [0] } = MEASURE[name];
    for (const tokens of sizes(command.tokens)) {
      const data = join(directory, name);
      mkdirSync(data);
      const forest = () => forestOf(tokens);
      const secrets = newSecrets();
      const bench = {
        directory: data,
        secrets,
        rounds,
        seconds,
        loadSeconds,
        tokens,
        forest,
        against,
        audited,
        before,
        say,
      };
      const began = performance.now();
      try {
        const figures: StoredFigures = { ...about, ...(await measure(bench)) };
        process.stdout.write(`\n## ${name}\n\n${renderCase(figures)}\n`);
        if (command.write && figures.tables.length > 0) storeFigures(name, figures);
      } catch (error) {
        code = 1;
        say(`${name}: failed without figures: ${error instanceof Error ? error.message : String(error)}`);
      }
      say(`${name}: took ${Math.round((performance.now() - began) / 1000)} s`);
      rmSync(data, { recursive: true, force: true });
    }
  }
  return code;
}

function otherServer(other: RunningServer | null): Measured | null {
  if (other === null) return null;
  const { url, pid } = other;
  const usage = () => ({ worker: usageOf(pid), gateway: NO_USAGE });
  return { url, token: process.env.AGAINST_TOKEN ?? "", usage };
}

/** Creates a large installation. */
async function plant(data: string, tokens: number): Promise<LargeInstallation> {
  say(`creating an installation with ${tokens} tokens`);
  const secrets = newSecrets();
  const largest = Math.floor(tokens * LARGEST_SHARE);
  const others = tokens - largest;
  const shape = { trees: Math.ceil(others / TREE_TOKENS), tokens: others, largest };
  return { data, secrets, forest: await plantForest(data, secrets, shape) };
}

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => process.exit(130));
process.exit(await runCommand(parseBenchArguments(process.argv.slice(2)), HELP, say, runBench));
