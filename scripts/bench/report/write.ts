import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { charts } from "./charts.ts";
import { renderDocument } from "./document.ts";
import { mergeReports, type Report } from "./report.ts";

/** Digits of a figure that are kept. */
const DIGITS = 6;

/**
 * Writes performance.md and its pictures into `docs`: what `report` has, and of earlier runs what it lacks. The figures of all
 * parts are kept beside the pictures.
 */
export function writeDocument(docs: string, report: Report): void {
  const directory = join(docs, "performance");
  const figures = join(directory, "figures.json");
  mkdirSync(directory, { recursive: true });
  const whole = mergeReports(readFigures(figures), report);
  writeFileSync(figures, figuresText(whole));
  for (const { name, svg } of charts(whole)) writeFileSync(join(directory, `${name}.svg`), svg);
  writeFileSync(join(docs, "performance.md"), renderDocument(whole));
}

function readFigures(path: string): Report {
  return existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as Report) : { runs: {} };
}

/** A line for each part, so that a difference between two versions names the parts that ran. */
function figuresText(report: Report): string {
  const short = (_: string, value: unknown) => (typeof value === "number" ? Number(value.toPrecision(DIGITS)) : value);
  const { runs, ...parts } = report;
  const lines = Object.entries({ ...parts, runs }).map(([name, value]) => `"${name}": ${JSON.stringify(value, short)}`);
  return `{\n${lines.join(",\n")}\n}\n`;
}
