import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { runCommand } from "../scripts/local/command-line.ts";
import { sourceCommit } from "../scripts/local/version.ts";
import { type BenchCommand, type CaseName, HELP, parseBenchArguments } from "./arguments.ts";
import type { Bench, CaseFigures, KeptForest, Measured } from "./case.ts";
import { measureAfterCreations } from "./cases/after-creations.ts";
import { measureCleanUps, measureDevCleanUps } from "./cases/clean-ups.ts";
import { measureConsole } from "./cases/console.ts";
import { measureIncident } from "./cases/incident.ts";
import { measureLoad } from "./cases/load.ts";
import { measureOperations } from "./cases/operations.ts";
import { type KeptFigures, keepFigures, renderCase } from "./figures.ts";
import { describeMachine } from "./machine.ts";
import { plantForest } from "./seed/forest.ts";
import { NO_USAGE, newSecrets, passingDirectory, usageOf } from "./servers/serve.ts";

interface Case {
  readonly measure: (bench: Bench) => Promise<CaseFigures>;
  /** Of the numbers of tokens on the command line those that it is measured with; absent: it has tokens of its own. */
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
};

/** Tokens of one tree, as a share of all of a large installation, and the mean of the other trees. */
const LARGEST_SHARE = 0.1;
const TREE_TOKENS = 100;

/**
 * Runs the cases that the command line asks for. The figures of each are printed, and kept, when it is over.
 *
 * @returns the exit code: 1 when a case had no figures; the others have.
 */
async function runBench(command: BenchCommand): Promise<number> {
  const { rounds, seconds, loadSeconds, options } = command;
  const directory = passingDirectory("bench", command.directory);
  const machine = describeMachine(directory);
  // Read once: the figures that are written change the sources' state.
  const about = { date: new Date().toISOString().slice(0, 10), commit: sourceCommit(), machine, options };
  const against = otherServer(command.against);
  const planted = new Map<number, Promise<KeptForest>>();
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
      const bench = { directory: data, secrets, rounds, seconds, loadSeconds, tokens, forest, against, say };
      const began = performance.now();
      try {
        const figures: KeptFigures = { ...about, ...(await measure(bench)) };
        process.stdout.write(`\n## ${name}\n\n${renderCase(figures)}\n`);
        if (command.write && figures.tables.length > 0) keepFigures(name, figures);
      } catch (error) {
        code = 1;
        say(`${name}: no figures: ${error instanceof Error ? error.message : String(error)}`);
      }
      say(`${name}: took ${Math.round((performance.now() - began) / 1000)} s`);
      rmSync(data, { recursive: true, force: true });
    }
  }
  return code;
}

function otherServer(other: BenchCommand["against"]): Measured | null {
  if (other === null) return null;
  const { url, pid } = other;
  const usage = () => ({ worker: usageOf(pid), gateway: NO_USAGE });
  return { url, token: process.env.AGAINST_TOKEN ?? "", usage };
}

/** A large installation, whose data cases read or copy. */
async function plant(data: string, tokens: number): Promise<KeptForest> {
  say(`planting ${tokens} tokens`);
  const secrets = newSecrets();
  const largest = Math.floor(tokens * LARGEST_SHARE);
  const others = tokens - largest;
  const shape = { trees: Math.ceil(others / TREE_TOKENS), tokens: others, largest };
  return { data, secrets, forest: await plantForest(data, secrets, shape) };
}

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => process.exit(130));
process.exit(await runCommand(parseBenchArguments(process.argv.slice(2)), HELP, say, runBench));
