import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PROJECT } from "../scripts/local/worker-definition.ts";
import type { CaseFigures, Row } from "./case.ts";

/** The figures of one case and the conditions of the run. */
export interface StoredFigures extends CaseFigures {
  /** Date of the run: `2026-11-22`. */
  readonly date: string;
  /** The measured commit; "" outside a repository. */
  readonly commit: string;
  readonly machine: string;
  /** The command-line options. */
  readonly options: string;
}

const FILE = join(PROJECT, "docs/performance/figures.json");
const PAGE = join(PROJECT, "docs/performance/figures.md");
/** The cases whose tables the page has; of the others, which docs/performance.md sums up, it has the targets. */
const TABLED: readonly string[] = ["operations", "cluster"];
/** Significant digits of a stored figure. */
const DIGITS = 4;

/** Replaces the stored figures of a case and variant, and updates the tables in docs/performance/figures.md. */
export function storeFigures(name: string, { variant, ...figures }: StoredFigures): void {
  const kept = { ...readFigures(), [variant === undefined ? name : `${name} ${variant}`]: figures };
  const short = (_: string, value: unknown) => (typeof value === "number" ? Number(value.toPrecision(DIGITS)) : value);
  writeFileSync(FILE, `${JSON.stringify(kept, short, 1)}\n`);
  writeFileSync(PAGE, fillPage(readFileSync(PAGE, "utf8"), renderFigures(readFigures())));
}

/** The stored figures. The key is the name of the case and, if it has one, a space and the variant. */
export function readFigures(): Record<string, StoredFigures> {
  return JSON.parse(readFileSync(FILE, "utf8"));
}

/**
 * Renders the stored figures by case. The variants of a case are in one text, in numeric order. Conditions that several
 * cases share are printed for the first case only; the others refer to it.
 */
export function renderFigures(all: Readonly<Record<string, StoredFigures>>): Record<string, string> {
  const parts: Record<string, string> = {};
  const firstWith = new Map<string, string>();
  for (const [key, figures] of Object.entries(all).toSorted(([a], [b]) =>
    a.localeCompare(b, "en", { numeric: true }),
  )) {
    const [name = ""] = key.split(" ");
    const conditions = conditionsOf(figures);
    const first = firstWith.get(conditions);
    firstWith.set(conditions, first ?? name);
    const shown = TABLED.includes(name) ? figures : { ...figures, tables: [] };
    const text = renderCase(shown, first === undefined ? conditions : `Measured in the run of *${first}*.`);
    parts[name] = [...(parts[name] === undefined ? [] : [parts[name]]), text].join("\n\n");
  }
  return parts;
}

function conditionsOf({ date, commit, machine, options }: StoredFigures): string {
  const build = commit === "" ? "" : ` at commit ${commit}`;
  return `Measured on ${date}${build}${options === "" ? "" : ` with \`${options}\``}: ${machine}.`;
}

/** Renders one case as Markdown: the conditions of the run, the tables and the targets. */
export function renderCase(figures: StoredFigures, conditions = conditionsOf(figures)): string {
  const { tables, targets } = figures;
  const rows = targets.map(({ what, got, atMost }) => [
    what,
    amount(got),
    amount(atMost),
    got <= atMost ? "yes" : "NO",
  ]);
  return [
    conditions,
    ...tables.filter((table) => table.length > 0).map(renderTable),
    ...(rows.length > 0 ? [textTable(["target", "measured", "at most", "met"], rows)] : []),
  ].join("\n\n");
}

function renderTable(rows: readonly Row[]): string {
  const header = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const cell = (value: string | number = "") => (typeof value === "number" ? amount(value) : value);
  return textTable(
    header,
    rows.map((row) => header.map((name) => cell(row[name]))),
  );
}

/** Formats a number with about three significant digits and with commas between thousands. */
export function amount(value: number): string {
  if (value === 0) return "0";
  const digits = value >= 100 || Number.isInteger(value) ? 0 : value >= 10 ? 1 : value >= 0.1 ? 2 : 3;
  const rounded = value >= 1000 ? Number(value.toPrecision(3)) : value;
  return rounded.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** Renders a table in a block of code. The first column is left-aligned, the others are right-aligned. */
export function textTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [header, ...rows];
  const widths = header.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]) => {
    const cells = widths.map((width, at) =>
      at === 0 ? (row[at] ?? "").padEnd(width) : (row[at] ?? "").padStart(width),
    );
    return cells.join("  ").trimEnd();
  };
  return ["```", ...all.map(line), "```"].join("\n");
}

/**
 * Replaces the text between the comments `<!-- begin NAME -->` and `<!-- end NAME -->` for each named part.
 *
 * @throws when the page lacks the comments of a part.
 */
export function fillPage(page: string, parts: Readonly<Record<string, string>>): string {
  return Object.entries(parts).reduce((text, [name, content]) => {
    const [begin, end] = [`<!-- begin ${name} -->`, `<!-- end ${name} -->`];
    const [from, to] = [text.indexOf(begin), text.indexOf(end)];
    if (from === -1 || to < from) throw new Error(`the page has no place for ${name}`);
    return `${text.slice(0, from + begin.length)}\n\n${content}\n\n${text.slice(to)}`;
  }, page);
}
