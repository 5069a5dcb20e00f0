import type { Growth } from "../cases/growth.ts";
import { amount } from "./numbers.ts";
import type { Report } from "./report.ts";
import { barChart, lineChart } from "./svg.ts";
import { rateRatio } from "./verdicts.ts";

/** A picture of the report. */
export interface Chart {
  /** Without the extension. */
  readonly name: string;
  readonly title: string;
  readonly svg: string;
}

/** The pictures of everything that the report has. */
export function charts(report: Report): Chart[] {
  return [
    ...(report.operations ? [operations(report.operations)] : []),
    ...(report.cascade ? [cascade(report.cascade)] : []),
    ...(report.growth
      ? [
          growth("growth-tree", "Time of an operation by tokens in the tree", "tokens in the tree", report.growth.tree),
          growth("growth-forest", "Time of an operation by trees", "trees", report.growth.forest),
          growth("growth-teams", "Time of a list by teams in the organization", "teams", report.growth.teams),
        ]
      : []),
    ...(report.load ? [memory(report.load)] : []),
  ];
}

function operations(all: NonNullable<Report["operations"]>): Chart {
  const title = "Rate as a ratio to the bare Worker (dashed: target)";
  const bars = all.map((comparison) => {
    const { median, min, max } = rateRatio(comparison);
    return { label: comparison.title, value: median, min, max, target: comparison.target };
  });
  return { name: "operations", title, svg: barChart(title, bars) };
}

function cascade(all: NonNullable<Report["cascade"]>): Chart {
  const title = "Revoking a token with descendants";
  const points = (value: (one: (typeof all)[number]) => number) =>
    all.map((one) => ({ x: one.descendants, y: value(one) }));
  const lines = [
    { label: "revoking the token", points: points((one) => one.revokeMs) },
    { label: "revoking a leaf", points: points((one) => one.leafMs) },
  ];
  const axes = { x: "descendants", y: "ms", logarithmic: true };
  return { name: "cascade", title, svg: lineChart(title, axes, lines) };
}

function growth(name: string, title: string, of: string, all: readonly Growth[]): Chart {
  const lines = all.map(({ operation, points }) => ({
    label: operation,
    points: points.map(({ size, ratio }) => ({ x: size, y: ratio.median })),
  }));
  const smallest = amount(all[0]?.points[0]?.size ?? 0);
  const axes = { x: of, y: `time as a ratio to ${smallest}`, logarithmic: true };
  return { name, title, svg: lineChart(title, axes, lines) };
}

function memory({ mixed }: NonNullable<Report["load"]>): Chart {
  const title = "Memory of the server under mixed load";
  const points = mixed.memory.map((mib, second) => ({ x: second, y: mib }));
  return { name: "memory", title, svg: lineChart(title, { x: "seconds", y: "MiB" }, [{ label: "resident", points }]) };
}
