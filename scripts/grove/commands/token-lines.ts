import type { Count, Token } from "../answers.ts";
import { harmless, renderTable, styled, type Terminal } from "../terminal.ts";

const HEAD = [
  ...["NAME", "ENDS", "POLICIES", "ROLE", "METADATA", "PATH", "CREATED", "LAST USED", "USES LEFT", "CHILDREN"],
  "ACCESSOR",
];

/** Tokens as a table. A terminal gets the columns that have something, and an accessor that does not fit by its end. */
export function tokenTable(terminal: Terminal, tokens: readonly Token[]): string[] {
  const rows = tokens.map(cellsOf);
  if (terminal.columns === null) return renderTable(terminal, HEAD, rows);
  const used = HEAD.map((name, at) => name === "ACCESSOR" || rows.some((row) => !EMPTY.has(row[at] ?? "")));
  const isUsed = (_: unknown, at: number) => used[at];
  const short = rows.map((row) => row.map((cell, at) => (HEAD[at] === "ACCESSOR" ? shortAccessor(cell) : cell)));
  return renderTable(
    terminal,
    HEAD.filter(isUsed),
    short.map((row) => row.filter(isUsed)),
  );
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
    "LAST USED": token.last_used ? shortTime(token.last_used) : "-",
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

/** A token in one line of a tree. */
export function tokenLabel(terminal: Pick<Terminal, "colours">, token: Token): string {
  const ends = token.expires === null ? "never ends" : `ends ${shortTime(token.expires)}`;
  const about = `${token.path}${token.role === "" ? "" : ` role ${token.role}`}, ${token.policies.join(",")}, ${ends}`;
  const name = styled(terminal, "bold", harmless(token.display_name || "token"));
  return `${name} ${harmless(token.accessor)} ${styled(terminal, "dim", harmless(about))}`;
}

/** A time in UTC, to the minute. */
export function shortTime(time: string): string {
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(time) ? `${time.slice(0, 10)} ${time.slice(11, 16)}Z` : time;
}

/** `more than 100 leases`: a count with its noun. */
export function countText({ count, more }: Count, name: string): string {
  return more ? `more than ${number(count, name)}` : number(count, name);
}

/** `1 token`, `2 tokens`. */
export function number(count: number, name: string): string {
  return `${count} ${name}${count === 1 ? "" : "s"}`;
}
