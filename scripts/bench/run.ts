import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { PROJECT } from "../local/worker-definition.ts";
import type { BenchCommand } from "./arguments.ts";
import { measureAnonymous } from "./cases/anonymous.ts";
import type { Bench } from "./cases/bench.ts";
import { runCascade } from "./cases/cascade.ts";
import { lookAtForest } from "./cases/console.ts";
import { countCosts } from "./cases/cost.ts";
import { endTogether } from "./cases/ending.ts";
import { countFiles } from "./cases/files.ts";
import { askForest } from "./cases/forest.ts";
import { growForest, growTeams, growTree } from "./cases/growth.ts";
import { runMixed } from "./cases/mixed.ts";
import { compareOperations } from "./cases/operations.ts";
import { pageThrough, tidyForest, tidyTree } from "./cases/tidy.ts";
import { LoadProcess } from "./load/process.ts";
import { describeMachine } from "./report/machine.ts";
import type { Report } from "./report/report.ts";
import { measureSync } from "./report/sync-time.ts";
import { buildGrove } from "./servers/grove.ts";

/** Descendants of a revoked token, and how long the sweep of each is watched at most (s). */
const CASCADES = [
  { descendants: 10_000, watchSeconds: 30 },
  { descendants: 100_000, watchSeconds: 75 },
  { descendants: 1_000_000, watchSeconds: 20 },
];
const TREE_SIZES = [1_000, 100_000, 1_000_000];
const FOREST_SIZES = [1, 1_000, 10_000];
/** Tokens and trees of the forests that operators' questions are asked of. */
const FORESTS = [
  { trees: 1_000, tokens: 100_000 },
  { trees: 10_000, tokens: 1_000_000 },
];
/**
 * Tokens that are ended together, by disabling their mount or by their prefix, and how long that is watched at most (s): the
 * fewest to their end, the others for what their clean-up does to look-ups.
 */
const ENDINGS = [
  { by: "prefix", trees: 1_000, tokens: 10_000, watchSeconds: 180 },
  { by: "prefix", trees: 10_000, tokens: 100_000, watchSeconds: 20 },
  { by: "mount", trees: 10_000, tokens: 1_000_000, watchSeconds: 20 },
] as const;
/** Tokens of trees of their own that come and go together, and how often. */
const PASSING = { atOnce: 1_000, rounds: 5 };
const QUICK_PASSING = { atOnce: 100, rounds: 3 };
const TEAM_SIZES = [1_000, 100_000];
const TIDY_SIZE = 100_000;
/** With `--quick` everything that is larger is left out. */
const QUICK_SIZE = 10_000;
const QUICK_FOREST = 1_000;
const QUICK_FOREST_TOKENS = 100_000;

/** Runs what the command line asks for. */
export async function runBench(command: BenchCommand, say: (line: string) => void): Promise<Report> {
  const root = resolve(command.directory ?? tmpdir());
  mkdirSync(root, { recursive: true });
  const directory = mkdtempSync(join(root, "grove-bench-"));
  // Also when the bench is stopped in the middle; its servers end with it by themselves.
  process.on("exit", () => rmSync(directory, { recursive: true, force: true }));
  const load = new LoadProcess();
  const small = (size: number) => !command.quick || size <= QUICK_SIZE;
  const has = (name: BenchCommand["cases"][number]) => command.cases.includes(name);
  try {
    say(`data in ${directory}`);
    say("building the Worker");
    const { rounds, seconds } = command;
    const bench: Bench = { build: await buildGrove(directory), load, directory, rounds, seconds, say };
    const machine = describeMachine(directory, measureSync(directory));
    const operations = has("operations")
      ? { operations: await compareOperations(bench, command.operations, command.against) }
      : {};
    const cascade = [];
    for (const { descendants, watchSeconds } of has("cascade") ? CASCADES : []) {
      if (small(descendants)) cascade.push(await runCascade(bench, descendants, watchSeconds));
    }
    const growth = has("growth")
      ? {
          growth: {
            tree: await growTree(bench, TREE_SIZES.filter(small)),
            forest: await growForest(
              bench,
              FOREST_SIZES.filter((size) => !command.quick || size <= QUICK_FOREST),
            ),
            teams: await growTeams(bench, TEAM_SIZES.filter(small)),
          },
        }
      : {};
    const mixed = has("load") ? { load: await runMixed(bench, command.loadSeconds) } : {};
    const size = command.quick ? QUICK_SIZE : TIDY_SIZE;
    const tidy = has("tidy")
      ? {
          tidy: {
            runs: [await tidyTree(bench, size), await tidyForest(bench, size / 10)],
            listing: await pageThrough(bench, size),
          },
        }
      : {};
    const forest = [];
    for (const { trees, tokens } of has("forest") ? FORESTS : []) {
      if (!command.quick || tokens <= QUICK_FOREST_TOKENS) forest.push(await askForest(bench, trees, tokens));
    }
    const endings = [];
    for (const { by, ...size } of has("ending") ? ENDINGS : []) {
      if (small(size.tokens)) endings.push(await endTogether(bench, by, size));
    }
    const consoles = [];
    for (const { trees, tokens } of has("console") ? FORESTS : []) {
      const seen = !command.quick || tokens <= QUICK_FOREST_TOKENS ? await lookAtForest(bench, trees, tokens) : null;
      if (seen) consoles.push(seen);
    }
    const anonymous = has("anonymous") ? { anonymous: await measureAnonymous(bench) } : {};
    const passing = command.quick ? QUICK_PASSING : PASSING;
    const files = has("files") ? { files: await countFiles(bench, passing.atOnce, passing.rounds) } : {};
    const cost = has("cost") ? { cost: await countCosts(bench) } : {};
    return {
      date: new Date().toISOString(),
      machine,
      commit: commitOf(),
      rounds,
      seconds,
      against: command.against?.url ?? "",
      ...operations,
      ...(has("cascade") && { cascade }),
      ...growth,
      ...mixed,
      ...cost,
      ...tidy,
      ...anonymous,
      ...files,
      ...(has("forest") && { forest }),
      ...(has("ending") && { ending: endings }),
      ...(consoles.length > 0 && { console: consoles }),
    };
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
