import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { runCommand } from "../scripts/local/command-line.ts";
import { sourceCommit } from "../scripts/local/version.ts";
import { type BenchCommand, type CaseName, HELP, parseBenchArguments } from "./arguments.ts";
import type { Bench, CaseFigures, KeptForest, Measured } from "./case.ts";
import { measureAfterCreations } from "./cases/after-creations.ts";
import { measureCleanUps } from "./cases/clean-ups.ts";
import { measureIncident } from "./cases/incident.ts";
import { measureLoad } from "./cases/load.ts";
import { measureOperations } from "./cases/operations.ts";
import { type KeptFigures, keepFigures, renderCase } from "./figures.ts";
import { describeMachine } from "./machine.ts";
import { plantForest } from "./seed/forest.ts";
import { NO_USAGE, newSecrets, passingDirectory, usageOf } from "./servers/serve.ts";

interface Case {
  readonly measure: (bench: Bench) => Promise<CaseFigures>;
  /** The sizes of installations (tokens) that the case is measured with; absent: it makes tokens of its own. */
  readonly sizes?: (tokens: readonly number[]) => readonly number[];
}

const say = (line: string): void => console.error(`bench: ${line}`);

const MEASURE: Readonly<Record<CaseName, Case>> = {
  operations: { measure: measureOperations },
  "after-creations": { measure: measureAfterCreations },
  load: { measure: measureLoad },
  incident: { measure: measureIncident, sizes: (tokens) => tokens },
  "clean-ups": { measure: measureCleanUps, sizes: (tokens) => tokens.slice(-1) },
};

/** Share of all tokens in the largest tree of a large installation, and the mean size of the other trees. */
const LARGEST_SHARE = 0.1;
const TREE_TOKENS = 100;

/**
 * Runs the cases that the command line names. Prints the figures of each, and keeps them, as soon as it is over.
 *
 * @returns the exit code: 1 when a case failed; the figures of the others are complete.
 */
async function runBench(command: BenchCommand): Promise<number> {
  const { rounds, seconds, loadSeconds, options } = command;
  const directory = passingDirectory("bench", command.directory);
  // Read before the first figures are written, which changes the state of the sources.
  const about = {
    date: new Date().toISOString().slice(0, 10),
    commit: sourceCommit(),
    machine: describeMachine(directory),
    options,
  };
  const against = otherServer(command.against);
  const planted = new Map<number, Promise<KeptForest>>();
  let code = 0;
  for (const name of command.cases) {
    const { measure, sizes = () => [0] } = MEASURE[name];
    for (const tokens of sizes(command.tokens)) {
      const data = join(directory, name);
      mkdirSync(data);
      const forest = () => {
        const known = planted.get(tokens) ?? plant(join(directory, `forest-${tokens}`), tokens);
        planted.set(tokens, known);
        return known;
      };
      const bench = { directory: data, rounds, seconds, loadSeconds, tokens, forest, against, say };
      const began = performance.now();
      try {
        const figures: KeptFigures = { ...about, ...(await measure(bench)) };
        process.stdout.write(`\n## ${name}\n\n${renderCase(figures)}\n`);
        if (command.write) keepFigures(name, figures);
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
  const usage = () => ({ worker: usageOf(other.pid), gateway: NO_USAGE });
  return { url: other.url, token: process.env.AGAINST_TOKEN ?? "", usage };
}

/** Writes a large installation, which cases read or copy. */
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
