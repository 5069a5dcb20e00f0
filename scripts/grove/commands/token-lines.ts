import type { Count, Token } from "../answer-schemas.ts";
import type { Part } from "../prose.ts";
import { harmless, narrowest, renderTable, styled, type Terminal } from "../terminal.ts";

/** Stands for the tokens without a value, where tokens are counted by a field. */
export const NO_VALUE = "(none)";

const HEAD = [
  ...["NAME", "ENDS", "POLICIES", "ROLE", "METADATA", "PATH", "CREATED", "USED IN THE HOUR", "USES LEFT", "CHILDREN"],
  "ACCESSOR",
];

/** Columns that are never cut: a cut time or accessor says nothing. */
const WHOLE = ["ENDS", "CREATED", "USED IN THE HOUR", "ACCESSOR"];
/** Columns that a narrow terminal leaves out, in this order. */
const SPARED = ["USED IN THE HOUR", "CREATED", "PATH", "USES LEFT", "CHILDREN", "METADATA", "ROLE"];
/** Characters that each column that may be cut should have beyond its minimum. */
const ROOM = 6;

/**
 * Tokens as a table. A terminal gets the columns that are not empty, as far as there is room, and the end of each
 * accessor; with `whole` the accessor itself in a line below each token.
 */
export function tokenTable(terminal: Terminal, tokens: readonly Token[], whole = false): string[] {
  const rows = tokens.map(cellsOf);
  if (terminal.columns === null) return renderTable(terminal, HEAD, rows);
  const short = rows.map((row) => row.map((cell, at) => (HEAD[at] === "ACCESSOR" ? shortAccessor(cell) : cell)));
  const isShown = (name: string, at: number) =>
    name === "ACCESSOR" ? !whole : rows.some((row) => !EMPTY.has(row[at] ?? ""));
  const only = (names: readonly string[]) => short.map((row) => row.filter((_, at) => names.includes(HEAD[at] ?? "")));
  const { columns } = terminal;
  const fits = (names: readonly string[]) => {
    const cut = names.filter((name) => !WHOLE.includes(name)).length;
    return narrowest(names, only(names), WHOLE) + cut * ROOM <= columns;
  };
  const used = HEAD.filter(isShown);
  const shown = SPARED.reduce((names, spared) => (fits(names) ? names : names.filter((name) => name !== spared)), used);
  const [head = "", ...lines] = renderTable(terminal, shown, only(shown), WHOLE);
  const accessors = whole ? tokens.map(({ accessor }) => [styled(terminal, "dim", harmless(accessor))]) : [];
  return [head, ...lines.flatMap((line, at) => [line, ...(accessors[at] ?? [])])];
}

const EMPTY: ReadonlySet<string> = new Set(["-", "", "0"]);
/** Characters at the end of an accessor that are shown: accessors of one tree begin alike. */
const SHOWN_END = 8;

/** The end of an accessor, which tells it from others. */
export const shortAccessor = (accessor: string): string =>
  accessor.length > SHOWN_END + 1 ? `…${accessor.slice(-SHOWN_END)}` : accessor;

function cellsOf(token: Token): string[] {
  const cells = {
    NAME: token.display_name,
    ENDS: token.expires === null ? "never" : shortTime(token.expires),
    POLICIES: token.policies.join(","),
    ROLE: token.role || "-",
    METADATA: pairsText(token.metadata) || "-",
    PATH: token.path,
    CREATED: shortTime(token.created),
    // Only the hour of a use is stored, which may begin before the token was made.
    "USED IN THE HOUR": token.last_used ? shortTime(token.last_used) : "-",
    "USES LEFT": token.uses_left === 0 ? "-" : String(token.uses_left),
    CHILDREN: String(token.children),
    ACCESSOR: token.accessor,
  };
  return Object.values(cells).map(harmless);
}

/** `owner=payments, run=7`. */
export function pairsText(pairs: Readonly<Record<string, string>>): string {
  return Object.entries(pairs)
    .map(([name, value]) => `${name}=${value}`)
    .join(", ");
}

/** A token in a tree. At a terminal its accessor comes last, as it may not fit on the same line. */
export function tokenLabel({ columns }: Pick<Terminal, "columns">, token: Token): Part[] {
  const ends = token.expires === null ? "never ends" : `ends ${shortTime(token.expires)}`;
  const about = `${token.path}${token.role === "" ? "" : ` role ${token.role}`}, ${token.policies.join(",")}, ${ends}`;
  const name: Part = { text: harmless(token.display_name || "token"), style: "bold" };
  const accessor = { text: harmless(token.accessor) };
  const rest: Part = { text: harmless(about), style: "dim" };
  return columns === null ? [name, accessor, rest] : [name, rest, accessor];
}

/** Who made a request: the name and the accessor of the token. */
export function askerText(by: { readonly display_name: string; readonly accessor: string }, unnamed = "token"): string {
  return `${by.display_name || unnamed} ${by.accessor}`.trimEnd();
}

/** A time in UTC, to the minute. */
export function shortTime(time: string): string {
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(time) ? `${time.slice(0, 10)} ${time.slice(11, 16)}Z` : time;
}

/** A time in UTC, to the second. */
export function preciseTime(time: string): string {
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/.test(time) ? `${time.slice(0, 10)} ${time.slice(11, 19)}Z` : time;
}

/** `more than 100 leases`: a count with its noun. */
export function countText({ count, more }: Count, name: string): string {
  return more ? `more than ${number(count, name)}` : number(count, name);
}

/** `1 token`, `2 tokens`. */
export function number(count: number, name: string): string {
  return `${count} ${name}${count === 1 ? "" : "s"}`;
}
