import type { Count, Token } from "../answers.ts";
import { harmless, renderTable, styled, type Terminal } from "../terminal.ts";

const HEAD = ["ACCESSOR", "NAME", "PATH", "ROLE", "POLICIES", "CREATED", "ENDS", "USES LEFT", "CHILDREN", "LAST USED"];

/** Tokens as a table. */
export function tokenTable(terminal: Terminal, tokens: readonly Token[]): string[] {
  return renderTable(terminal, HEAD, tokens.map(cellsOf));
}

function cellsOf(token: Token): string[] {
  return [
    token.accessor,
    token.display_name,
    token.path,
    token.role || "-",
    token.policies.join(","),
    shortTime(token.created),
    token.expires === null ? "never" : shortTime(token.expires),
    token.uses_left === 0 ? "-" : String(token.uses_left),
    String(token.children),
    token.last_used ? shortTime(token.last_used) : "-",
  ].map(harmless);
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
