import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { sourceCommit } from "../scripts/local/version.ts";
import type { BenchCommand, CaseName } from "./arguments.ts";
import type { Bench, CaseFigures, KeptForest, Measured } from "./case.ts";
import { measureAfterCreations } from "./cases/after-creations.ts";
import { measureCleanUps } from "./cases/clean-ups.ts";
import { measureConsole } from "./cases/console.ts";
import { measureIncident } from "./cases/incident.ts";
import { measureLoad } from "./cases/load.ts";
import { measureOperations } from "./cases/operations.ts";
import { type KeptFigures, keepFigures, renderCase } from "./figures.ts";
import { describeMachine } from "./machine.ts";
import { plantForest } from "./seed/forest.ts";
import { newSecrets, usageOf } from "./servers/serve.ts";

const MEASURE: Readonly<Record<CaseName, (bench: Bench) => Promise<CaseFigures>>> = {
  operations: measureOperations,
  "after-creations": measureAfterCreations,
  "clean-ups": measureCleanUps,
  load: measureLoad,
  incident: measureIncident,
  console: measureConsole,
};

/** Runs the cases that the command line asks for, and prints the figures of each when it is over. */
export async function runBench(command: BenchCommand, say: (line: string) => void): Promise<void> {
  const { rounds, seconds, loadSeconds, tokens, options } = command;
  const root = resolve(command.directory ?? tmpdir());
  mkdirSync(root, { recursive: true });
  const directory = mkdtempSync(join(root, "grove-bench-"));
  // Also when the bench is stopped in the middle.
  process.on("exit", () => rmSync(directory, { recursive: true, force: true }));
  const machine = describeMachine(directory);
  const about = { date: new Date().toISOString().slice(0, 10), commit: sourceCommit(), machine, options };
  let planted: Promise<KeptForest> | undefined;
  const forest = () => {
    planted ??= command.forest === null ? plant(join(directory, "forest"), tokens, say) : openForest(command.forest);
    return planted;
  };
  for (const name of command.cases) {
    const data = join(directory, name);
    mkdirSync(data);
    const against = otherServer(command.against);
    const secrets = newSecrets();
    const bench = { directory: data, secrets, rounds, seconds, loadSeconds, tokens, forest, against, say };
    const began = performance.now();
    const figures: KeptFigures = { ...about, ...(await MEASURE[name](bench)) };
    say(`${name}: took ${Math.round((performance.now() - began) / 1000)} s`);
    process.stdout.write(`\n## ${name}\n\n${renderCase(figures)}\n`);
    if (command.write && figures.tables.length > 0) keepFigures(name, figures);
    rmSync(data, { recursive: true, force: true });
  }
}

function otherServer(other: BenchCommand["against"]): Measured | null {
  if (other === null) return null;
  const { url, pid } = other;
  const gateway = { cpuSeconds: 0, residentBytes: 0 };
  return { url, token: process.env.AGAINST_TOKEN ?? "", usage: () => ({ worker: usageOf(pid), gateway }) };
}

/** A large installation for the cases that only read it. */
async function plant(data: string, tokens: number, say: (line: string) => void): Promise<KeptForest> {
  say(`planting ${tokens} tokens`);
  const secrets = newSecrets();
  await plantForest(data, secrets, { trees: Math.ceil(tokens / 100), tokens });
  return { data, secrets };
}

/** One that was planted before, with its secrets from the environment. */
async function openForest(data: string): Promise<KeptForest> {
  const { GROVE_SEAL_KEY, GROVE_TOKEN } = process.env;
  if (!GROVE_SEAL_KEY || !GROVE_TOKEN) throw new Error("--forest needs the variables GROVE_SEAL_KEY and GROVE_TOKEN");
  return { data: resolve(data), secrets: { GROVE_SEAL_KEY, GROVE_DEV_ROOT_TOKEN: GROVE_TOKEN } };
}
