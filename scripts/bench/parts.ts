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
import type { Figures } from "./report/report.ts";
import { describeServer } from "./servers/other.ts";

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

type RunPart = (bench: Bench, command: BenchCommand) => Promise<Partial<Figures>>;

/** What each part of the command line measures. */
export const PARTS: Readonly<Record<BenchCommand["cases"][number], RunPart>> = {
  async operations(bench, { operations: names, against: other }) {
    const all = await compareOperations(bench, names, other);
    const operations = all.map((one) => ({ ...one, others: [], served: [] }));
    if (other === null) return { operations };
    const shared = all.filter(({ others }) => others.length > 0).map((one) => ({ ...one, samples: [] }));
    const { text, auditDevices } = await describeServer(other);
    const against = { server: text, operations: shared };
    return auditDevices === 0 ? { operations, against } : { operations, "against-audited": against };
  },

  async cascade(bench, { quick }) {
    const cascade = [];
    for (const { descendants, watchSeconds } of CASCADES) {
      if (isSmall(quick, descendants)) cascade.push(await runCascade(bench, descendants, watchSeconds));
    }
    return { cascade };
  },

  async growth(bench, { quick }) {
    const small = (size: number) => isSmall(quick, size);
    const forests = FOREST_SIZES.filter((size) => !quick || size <= QUICK_FOREST);
    const tree = await growTree(bench, TREE_SIZES.filter(small));
    const forest = await growForest(bench, forests);
    return { growth: { tree, forest, teams: await growTeams(bench, TEAM_SIZES.filter(small)) } };
  },

  load: async (bench, { loadSeconds }) => ({ load: await runMixed(bench, loadSeconds) }),

  cost: async (bench) => ({ cost: await countCosts(bench) }),

  async tidy(bench, { quick }) {
    const size = quick ? QUICK_SIZE : TIDY_SIZE;
    const runs = [await tidyTree(bench, size), await tidyForest(bench, size / 10)];
    return { tidy: { runs, listing: await pageThrough(bench, size) } };
  },

  anonymous: async (bench) => ({ anonymous: await measureAnonymous(bench) }),

  async forest(bench, { quick }) {
    const forest = [];
    for (const { trees, tokens } of forestsOf(quick)) forest.push(await askForest(bench, trees, tokens));
    return { forest };
  },

  async ending(bench, { quick }) {
    const ending = [];
    for (const { by, ...size } of ENDINGS) {
      if (isSmall(quick, size.tokens)) ending.push(await endTogether(bench, by, size));
    }
    return { ending };
  },

  async console(bench, { quick }) {
    const seen = [];
    for (const { trees, tokens } of forestsOf(quick)) {
      const one = await lookAtForest(bench, trees, tokens);
      if (one) seen.push(one);
    }
    return seen.length > 0 ? { console: seen } : {};
  },

  async files(bench, { quick }) {
    const { atOnce, rounds } = quick ? QUICK_PASSING : PASSING;
    return { files: await countFiles(bench, atOnce, rounds) };
  },
};

function isSmall(quick: boolean, size: number): boolean {
  return !quick || size <= QUICK_SIZE;
}

function forestsOf(quick: boolean) {
  return FORESTS.filter(({ tokens }) => !quick || tokens <= QUICK_FOREST_TOKENS);
}
