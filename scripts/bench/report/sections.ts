import type { AnonymousCosts } from "../cases/anonymous.ts";
import type { Sample } from "../cases/bench.ts";
import type { OperationCost } from "../cases/cost.ts";
import type { FileGrowth } from "../cases/files.ts";
import type { Growth } from "../cases/growth.ts";
import { median, pairedRatio, type Spread, spread } from "../statistics.ts";
import { bulkSection, consoleSection, endingSection, forestSection } from "./forest-sections.ts";
import { amount, amounts, windowsText } from "./numbers.ts";
import { pricePerMillion, pricePerMonth } from "./price.ts";
import type { Against, Part, Report } from "./report.ts";
import { pagingSection, tidySection } from "./tidy-sections.ts";
import { cpuRatio, cpus, rateRatio, rates, verdicts } from "./verdicts.ts";

/** A table of the report, for the terminal and for the document. */
export interface Section {
  readonly name:
    | "operations"
    | "against"
    | "against-audited"
    | "cpu-shares"
    | "cascade"
    | "growth-tree"
    | "growth-forest"
    | "growth-teams"
    | "load"
    | "cost"
    | "anonymous"
    | "files"
    | "forest"
    | "bulk-revocation"
    | "ending"
    | "console"
    | "tidy"
    | "listing"
    | "targets";
  /** Where its figures come from; null: from all that there are. */
  readonly part: Part | null;
  readonly title: string;
  readonly header: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** Tokens a day that the costs are reckoned for. */
const TOKENS_A_DAY = 1e6;

/** The tables of everything that the report has. */
export function sections(report: Report): Section[] {
  return [
    ...(report.operations ? [operations(report)] : []),
    ...(report.against ? [against("against", report.against)] : []),
    ...(report["against-audited"] ? [against("against-audited", report["against-audited"])] : []),
    ...(report.against ? [cpuShares(report.against)] : []),
    ...(report.cascade ? [cascade(report)] : []),
    ...(report.growth
      ? [
          growth("growth-tree", "Growth: tokens in one tree", report.growth.tree),
          growth("growth-forest", "Growth: trees in one installation", report.growth.forest),
          growth("growth-teams", "Growth: teams in one organization", report.growth.teams),
        ]
      : []),
    ...(report.load ? [load(report)] : []),
    ...(report.cost ? [cost(report.cost)] : []),
    ...(report.tidy ? [tidySection(report.tidy.runs), pagingSection(report.tidy.listing)] : []),
    ...(report.anonymous ? [anonymous(report.anonymous)] : []),
    ...(report.files ? [files(report.files)] : []),
    ...(report.forest ? [forestSection(report.forest), bulkSection(report.forest)] : []),
    ...(report.ending ? [endingSection(report.ending)] : []),
    ...(report.console ? [consoleSection(report.console)] : []),
    targets(report),
  ];
}

function operations({ operations: all = [] }: Report): Section {
  return {
    name: "operations",
    part: "operations",
    title: "Operations",
    header: [
      "operation",
      "requests/s",
      "p50 ms",
      "p99 ms",
      "CPU us",
      "compared with",
      "requests/s ",
      "ratio",
      "CPU ratio",
    ],
    rows: all.map((comparison) => {
      const { title, samples, references, reference } = comparison;
      const ratio = rateRatio(comparison);
      const visible = [...samples, ...references].every(({ cpuMicros }) => cpuMicros > 0);
      return [
        title,
        amounts(spread(rates(samples))),
        amount(spread(samples.map(({ p50 }) => p50)).median),
        amount(spread(samples.map(({ p99 }) => p99)).median),
        visible ? cpuOf(samples) : "",
        reference,
        amounts(spread(rates(references))),
        ratioText(ratio),
        visible ? pairedRatio(cpus(references), cpus(samples)).median.toFixed(2) : "",
      ];
    }),
  };
}

function files({ atOnce, rounds }: FileGrowth): Section {
  return {
    name: "files",
    part: "files",
    title: "Files after tokens that came and went",
    header: ["tokens until then", "of them at a time", "files of trees"],
    rows: rounds.map(({ tokens, files: left }) => [amount(tokens), amount(atOnce), amount(left)]),
  };
}

/** Where the CPU of a request through the gateway goes, in us: medians. */
function cpuShares({ operations: all }: Against): Section {
  const micros = (samples: readonly Sample[]) => median(samples.map(({ cpuMicros }) => cpuMicros));
  return {
    name: "cpu-shares",
    part: "against",
    title: "Where the CPU goes",
    header: ["operation", "the gateway", "Grove's Worker", "the bare Worker", "for"],
    rows: all.map(({ title, served, references, reference }) => {
      const gateway = median(served.map(({ gatewayMicros }) => gatewayMicros));
      return [title, amount(gateway), amount(micros(served)), amount(micros(references)), reference];
    }),
  };
}

/** The targets are for a server that writes no audit log. */
function against(part: "against" | "against-audited", { server, operations: all }: Against): Section {
  const hasTargets = part === "against";
  return {
    name: part,
    part,
    title: `Beside another server: ${server}`,
    header: [
      "operation",
      "Grove, requests/s",
      "the other, requests/s",
      "ratio",
      "Grove, CPU us",
      "the other, CPU us",
      "CPU ratio",
      ...(hasTargets ? ["at most"] : []),
    ],
    rows: all.map((comparison) => {
      const { title, served, others, cpuTarget } = comparison;
      const ratio = pairedRatio(rates(served), rates(others));
      const cpu = cpuRatio(comparison);
      return [
        title,
        amounts(spread(rates(served))),
        amounts(spread(rates(others))),
        ratioText(ratio),
        cpuOf(served),
        ...(cpu === null ? ["", ""] : [cpuOf(others), ratioText(cpu)]),
        ...(hasTargets ? [cpuTarget === undefined ? "" : String(cpuTarget)] : []),
      ];
    }),
  };
}

/** Microseconds of the server, and of the gateway where there is one. */
function cpuOf(samples: readonly Sample[]): string {
  const server = amount(median(samples.map(({ cpuMicros }) => cpuMicros)));
  const gateway = median(samples.map(({ gatewayMicros }) => gatewayMicros));
  return gateway === 0 ? server : `${server} + ${amount(gateway)}`;
}

function ratioText({ median: middle, min, max }: Spread): string {
  return `${middle.toFixed(2)} (${min.toFixed(2)}-${max.toFixed(2)})`;
}

function cascade({ cascade: all = [] }: Report): Section {
  return {
    name: "cascade",
    part: "cascade",
    title: "Cascade: revoking a token with descendants",
    header: [
      "descendants",
      "a leaf, ms",
      "the token, ms",
      "accepted below",
      "same tree: p99 before, ms (worst)",
      "during",
      "other trees: before",
      "during ",
      "gone after, s",
      "memory MiB",
    ],
    rows: all.map((one) => [
      amount(one.descendants),
      amount(one.leafMs),
      amount(one.revokeMs),
      `${one.accepted} of ${one.asked}`,
      ...[one.sameTree, one.otherTrees].flatMap(({ before, during }) => [before, during].map(windowsText)),
      one.sweptAfterSeconds === null ? `> ${amount(one.watchedSeconds)}` : amount(one.sweptAfterSeconds),
      `${amount(one.memoryBefore)} to ${amount(one.memoryMost)}`,
    ]),
  };
}

function growth(
  name: "growth-tree" | "growth-forest" | "growth-teams",
  title: string,
  all: readonly Growth[],
): Section {
  const sizes = all[0]?.points.map(({ size }) => amount(size)) ?? [];
  return {
    name,
    part: "growth",
    title,
    header: [
      "operation",
      ...sizes.map((size) => `${size}: p50 ms`),
      "ratio",
      ...sizes.map((size) => `${size}: rows r/w`),
    ],
    rows: all.map(({ operation, points }) => [
      operation,
      ...points.map(({ p50 }) => amounts(p50)),
      (points.at(-1)?.ratio.median ?? 0).toFixed(2),
      ...points.map(({ rows }) => `${rows.rowsRead}/${rows.rowsWritten}`),
    ]),
  };
}

function load({ load: all }: Report): Section {
  const rows = Object.entries(all?.mixed.labels ?? {}).map(([name, { count, statuses, latencyMs }]) => {
    const told = Object.entries(statuses).map(([status, number]) => `${status}: ${number}`);
    return [
      name,
      amount(count),
      ...[latencyMs.p50, latencyMs.p90, latencyMs.p99, latencyMs.max].map(amount),
      told.join(", "),
    ];
  });
  const flood = all?.overload;
  return {
    name: "load",
    part: "load",
    title: `Load: ${amount(all?.mixed.seconds ?? 0)} s of mixed traffic, then ${flood?.connections} connections at once`,
    header: ["request", "answers", "p50 ms", "p90 ms", "p99 ms", "longest ms", "statuses"],
    rows: [
      ...rows,
      [
        "overload",
        amount((flood?.answered ?? 0) + (flood?.refused ?? 0)),
        "",
        "",
        amount(flood?.p99 ?? 0),
        "",
        `503: ${flood?.refused}`,
      ],
    ],
  };
}

function anonymous({ login, requests }: AnonymousCosts): Section {
  return {
    name: "anonymous",
    part: "anonymous",
    title: "What a request without a token costs",
    header: ["request", "answered", "CPU us", "logins"],
    rows: [login, ...requests].map((one) => [
      one.title,
      one.statuses,
      amount(one.cpuMicros),
      (one.cpuMicros / login.cpuMicros).toFixed(2),
    ]),
  };
}

function cost(all: readonly OperationCost[]): Section {
  return {
    name: "cost",
    part: "cost",
    title: "Cost on Cloudflare",
    header: [
      "operation",
      "rows read",
      "rows written",
      "alarms set",
      "calls",
      "objects",
      "$ a million",
      "$ a month at 1 M a day",
    ],
    rows: all.map(({ operation, counts }) => {
      const price = pricePerMillion(counts);
      return [
        operation,
        String(counts.rowsRead),
        String(counts.rowsWritten),
        String(counts.alarms),
        String(counts.calls.length),
        String(counts.objects),
        price.toFixed(2),
        pricePerMonth(price, TOKENS_A_DAY).toFixed(0),
      ];
    }),
  };
}

function targets(report: Report): Section {
  return {
    name: "targets",
    part: null,
    title: "Targets",
    header: ["what", "target", "measured", "met"],
    rows: verdicts(report).map(({ what, target, got, met }) => [what, target, got, met ? "yes" : "NO"]),
  };
}
