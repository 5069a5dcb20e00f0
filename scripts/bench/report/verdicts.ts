import type { AnonymousCosts } from "../cases/anonymous.ts";
import type { Sample } from "../cases/bench.ts";
import type { Beside } from "../cases/beside.ts";
import type { Cascade } from "../cases/cascade.ts";
import type { ConsoleReport } from "../cases/console.ts";
import type { Ending } from "../cases/ending.ts";
import type { Growth, GrowthPoint } from "../cases/growth.ts";
import type { MixedLoad, Overload } from "../cases/mixed.ts";
import type { Comparison } from "../cases/operations.ts";
import { median, pairedRatio, type Spread } from "../statistics.ts";
import { amount } from "./numbers.ts";
import type { Obstacle } from "./obstacles.ts";
import type { Report } from "./report.ts";

/** One target, and whether a run met it. */
export interface Verdict {
  readonly what: string;
  readonly target: string;
  readonly got: string;
  readonly met: boolean;
  /** What is known to stand in the way, if it is missed. */
  readonly obstacle?: Obstacle;
}

/** How much slower an operation may be at the largest size than at the smallest. */
const FLAT = 1.3;
/** Revoking a token with descendants against revoking a leaf. */
const CONSTANT = 2;
/** Ending all tokens of a mount, which writes to several objects, against revoking a leaf: whatever their number. */
const ENDING = 10;
const SAME_TREE = 3;
const OTHER_TREES = 1.5;
/** The sweep of this many has to be over within this many seconds. */
const SWEEP = { descendants: 100_000, seconds: 60 };
/** Memory may be this much above what it was when the caches had filled. */
const STEADY = 1.15;
const STEADY_MIB = 32;

/** CPU of the gateway process for one request, in microseconds, and its memory after far too many connections. */
const GATEWAY = { cpuMicros: 85, memoryMiB: 120 };

/** What somebody without a token can have the server do with one request, in logins. */
const ANONYMOUS_LOGINS = 5;

/** How long the console may take, in ms. */
const CONSOLE = { firstPicture: 2000, input: 100 };

/** Every target that the report has figures for. */
export function verdicts(report: Report): Verdict[] {
  return [
    ...(report.operations ?? []).map(ratioVerdict),
    ...(report.operations ?? []).filter(({ name }) => name === "gateway").map(gatewayVerdict),
    ...(report.against?.operations ?? []).flatMap(cpuVerdicts),
    ...(report.cascade ?? []).flatMap(cascadeVerdicts),
    ...(report.ending ?? []).flatMap(endingVerdicts),
    ...(report.growth?.tree ?? []).flatMap((growth) => growthVerdicts(growth, "tokens in the tree")),
    ...(report.growth?.forest ?? []).flatMap((growth) => growthVerdicts(growth, "trees")),
    ...(report.growth?.teams ?? []).flatMap((growth) => growthVerdicts(growth, "teams")),
    ...(report.anonymous ? [anonymousVerdict(report.anonymous)] : []),
    ...(report.load ? loadVerdicts(report.load.mixed, report.load.overload) : []),
    ...(report.console ?? []).flatMap(consoleVerdicts),
  ];
}

/** The rate of an operation as a ratio to its reference, round by round. */
export function rateRatio({ samples, references }: Pick<Comparison, "samples" | "references">): Spread {
  return pairedRatio(rates(samples), rates(references));
}

/** Requests a second of each sample. */
export function rates(samples: readonly Sample[]): number[] {
  return samples.map(({ perSecond }) => perSecond);
}

/** Microseconds of all server processes of each sample for one request. */
export function cpus(samples: readonly Sample[]): number[] {
  return samples.map(({ cpuMicros, gatewayMicros }) => cpuMicros + gatewayMicros);
}

/** What Grove's processes use for a request as a ratio to the other server's; null when that can't be seen. */
export function cpuRatio({ served, others }: Pick<Comparison, "served" | "others">): Spread | null {
  const visible = others.length > 0 && others.every(({ cpuMicros }) => cpuMicros > 0);
  return visible ? pairedRatio(cpus(served), cpus(others)) : null;
}

const OBSTACLES: Readonly<Record<string, Obstacle>> = {
  lookup: "look-up",
  "lookup-trees": "look-up",
  "lookup-batch": "batch look-up",
  "create-batch": "creation of a batch token",
  renew: "renewal",
  "create-child": "creation of a child",
  "create-orphan": "creation of an orphan",
  "create-orphan-again": "creation in a tree that is taken again",
  "create-orphan-woken": "creation in a tree that is taken again",
  login: "login by a document",
  "login-batch": "login by a document, batch token",
  "login-signed": "login by a signed request",
  "login-signed-batch": "login by a signed request, batch token",
};

function ratioVerdict(comparison: Comparison): Verdict {
  const ratio = rateRatio(comparison).median;
  const { name, title, reference, target } = comparison;
  const obstacle = OBSTACLES[name];
  return { ...atLeast(`${title}: rate as a ratio to ${reference}`, ratio, target), ...(obstacle && { obstacle }) };
}

function gatewayVerdict({ samples }: Comparison): Verdict {
  const micros = median(samples.map(({ gatewayMicros }) => gatewayMicros));
  return atMost("the gateway's own CPU for one request, us", micros, GATEWAY.cpuMicros);
}

function cpuVerdicts(comparison: Comparison): Verdict[] {
  const ratio = cpuRatio(comparison);
  const { name, title, cpuTarget } = comparison;
  if (ratio === null || cpuTarget === undefined) return [];
  const obstacle = OBSTACLES[name];
  return [
    {
      ...atMost(`${title}: CPU as a ratio to the other server`, ratio.median, cpuTarget),
      ...(obstacle && { obstacle }),
    },
  ];
}

function anonymousVerdict({ login, requests }: AnonymousCosts): Verdict {
  const dearest = Math.max(...requests.map(({ cpuMicros }) => cpuMicros));
  return atMost("CPU of the dearest request without a token, in logins", dearest / login.cpuMicros, ANONYMOUS_LOGINS);
}

function consoleVerdicts({ tokens, steps }: ConsoleReport): Verdict[] {
  const name = `console, ${amount(tokens)} tokens`;
  const slowest = (kind: ConsoleReport["steps"][number]["kind"]): number =>
    Math.max(...steps.filter((step) => step.kind === kind).map((step) => step.median));
  return [
    atMost(`${name}: first picture of the forest, ms`, slowest("first picture"), CONSOLE.firstPicture),
    atMost(`${name}: longest input that asks nothing of the server, ms`, slowest("input"), CONSOLE.input),
  ];
}

function endingVerdicts({ by, tokens, ms, leafMs, probes, acceptedAfter, lookUps }: Ending): Verdict[] {
  const name = by === "mount" ? `a mount of ${amount(tokens)} tokens` : `a prefix of ${amount(tokens)} tokens`;
  return [
    { ...atMost(`${name}: ending it, as a ratio to a leaf`, ms / leafMs, ENDING), obstacle: "revocation" },
    {
      what: `${name}: accepted after the answer`,
      target: "none",
      got: `${acceptedAfter} of ${probes}`,
      met: acceptedAfter === 0,
    },
    besideVerdict(`${name}: p99 of look-ups in other trees during the clean-up`, lookUps, OTHER_TREES, "clean-up"),
  ];
}

function cascadeVerdicts(cascade: Cascade): Verdict[] {
  const { descendants, leafMs, revokeMs, asked, accepted, sweptAfterSeconds, watchedSeconds } = cascade;
  const name = `${amount(descendants)} descendants`;
  const swept = sweptAfterSeconds === null ? `not after ${amount(watchedSeconds)} s` : `${amount(sweptAfterSeconds)} s`;
  return [
    { ...atMost(`${name}: revoking, as a ratio to a leaf`, revokeMs / leafMs, CONSTANT), obstacle: "revocation" },
    {
      what: `${name}: accepted below after the answer`,
      target: "none",
      got: `${accepted} of ${asked}`,
      met: accepted === 0,
    },
    besideVerdict(`${name}: p99 of look-ups in the tree during the sweep`, cascade.sameTree, SAME_TREE),
    besideVerdict(`${name}: p99 of look-ups in other trees during the sweep`, cascade.otherTrees, OTHER_TREES),
    ...(descendants === SWEEP.descendants
      ? [
          {
            what: `${name}: rows and accessors gone`,
            target: `within ${SWEEP.seconds} s`,
            got: swept,
            met: sweptAfterSeconds !== null && sweptAfterSeconds <= SWEEP.seconds,
          },
        ]
      : []),
    {
      ...steadyVerdict(`${name}: memory during the sweep`, cascade.memoryBefore, cascade.memoryMost),
      obstacle: "memory of a sweep",
    },
  ];
}

function besideVerdict(
  what: string,
  { before, during }: Beside,
  most: number,
  obstacle: "sweep" | "clean-up" = "sweep",
): Verdict {
  return { ...atMost(what, during.median / before.median, most), obstacle };
}

function growthVerdicts({ operation, points }: Growth, of: string): Verdict[] {
  const [smallest] = points;
  const largest = points.at(-1);
  if (!smallest || !largest) return [];
  const sizes = `${operation}, ${amount(largest.size)} ${of} against ${amount(smallest.size)}`;
  const rows = ({ rows: { rowsRead, rowsWritten } }: GrowthPoint) => `${rowsRead} read, ${rowsWritten} written`;
  const flat = rowsOf(largest) <= FLAT * rowsOf(smallest);
  return [
    atMost(`${sizes}: time`, largest.ratio.median, FLAT),
    {
      what: `${sizes}: rows`,
      target: rows(smallest),
      got: rows(largest),
      met: flat,
      ...(of === "teams" && { obstacle: "pages" as const }),
      ...(operation.startsWith("list 100 accessors") && { obstacle: "shards" as const }),
    },
  ];
}

function rowsOf({ rows }: GrowthPoint): number {
  return rows.rowsRead + rows.rowsWritten;
}

function loadVerdicts(mixed: MixedLoad, overload: Overload): Verdict[] {
  const { early, late } = memoryEnds(mixed.memory);
  return [
    none("mixed load: 5xx other than 503 with Retry-After", mixed.failures),
    none("mixed load: connections lost", mixed.lost),
    {
      ...steadyVerdict("mixed load: memory at the end against after the first third", early, late),
      obstacle: "memory under load",
    },
    none("overload: 5xx other than 503 with Retry-After", overload.failures),
    {
      what: `overload: ${overload.connections} connections`,
      target: "some refused with 503, the others answered",
      got: `${amount(overload.answered)} answered, ${amount(overload.refused)} refused`,
      met: overload.answered > 0 && overload.refused > 0,
    },
    atMost("overload: memory of the gateway's process afterwards, MiB", overload.gatewayMemoryMiB, GATEWAY.memoryMiB),
  ];
}

/** The middle of the memory in the second sixth of a load, when caches are full, and in the last. */
export function memoryEnds(memory: readonly number[]): { readonly early: number; readonly late: number } {
  const sixth = Math.ceil(memory.length / 6);
  return { early: median(memory.slice(sixth, 2 * sixth)), late: median(memory.slice(-sixth)) };
}

function steadyVerdict(what: string, before: number, after: number): Verdict {
  return {
    what,
    target: `at most ${amount(Math.max(STEADY * before, before + STEADY_MIB))} MiB`,
    got: `${amount(after)} MiB`,
    met: after <= Math.max(STEADY * before, before + STEADY_MIB),
  };
}

function none(what: string, got: number): Verdict {
  return { what, target: "none", got: String(got), met: got === 0 };
}

function atLeast(what: string, got: number, target: number): Verdict {
  return { what, target: `at least ${target}`, got: got.toFixed(2), met: got >= target };
}

function atMost(what: string, got: number, target: number): Verdict {
  return { what, target: `at most ${target}`, got: got.toFixed(2), met: got <= target };
}
