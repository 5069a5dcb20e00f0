import { ok, type Result } from "../../../src/base/result.ts";
import { PAGE, SUMMARY, type Token } from "../answers.ts";
import type { Filter } from "../arguments.ts";
import type { CallFailure, GroveClient } from "../client.ts";
import { renderTable } from "../table.ts";
import { harmless, type Terminal } from "../terminal.ts";
import { tokenTable } from "./token-lines.ts";

const PAGE_SIZE = 1000;

interface Wanted {
  readonly filter: Filter;
  readonly sort: string;
  /** 0: all. */
  readonly limit: number;
  readonly json: boolean;
}

/** Shows tokens. */
export async function showTokens(
  client: GroveClient,
  terminal: Terminal,
  { filter, sort, limit, json }: Wanted,
): Promise<Result<number, CallFailure>> {
  const most = limit === 0 ? Number.POSITIVE_INFINITY : limit;
  const tokens: Token[] = [];
  let next = "";
  do {
    const size = String(Math.min(PAGE_SIZE, most - tokens.length));
    const page = await client.get("sys/tokens", PAGE, { ...filter, sort, limit: size, after: next });
    terminal.progress(null);
    if (!page.ok) return page;
    tokens.push(...page.value.tokens);
    next = page.value.next;
    if (next !== "") terminal.progress(`${tokens.length} tokens`);
  } while (next !== "" && tokens.length < most);
  terminal.progress(null);
  if (json) terminal.out(JSON.stringify(tokens));
  else {
    for (const line of tokenTable(terminal, tokens)) terminal.out(line);
    terminal.say(
      next === "" ? `${tokens.length} tokens` : `${tokens.length} tokens, and there are more: --limit 0 shows all`,
    );
  }
  return ok(0);
}

/** Shows numbers of tokens by group. */
export async function countTokens(
  client: GroveClient,
  terminal: Terminal,
  { by, filter, json }: { readonly by: string; readonly filter: Filter; readonly json: boolean },
): Promise<Result<number, CallFailure>> {
  const summary = await client.get("sys/tokens/summary", SUMMARY, { ...filter, group_by: by });
  if (!summary.ok) return summary;
  const { groups, total, other } = summary.value;
  if (json) terminal.out(JSON.stringify(summary.value));
  else {
    const rows = groups.map(({ key, count }) => [String(count), harmless(key || "-")]);
    const rest = other > 0 ? [[String(other), "(others)"]] : [];
    for (const line of renderTable(terminal, ["TOKENS", by.toUpperCase()], [...rows, ...rest])) terminal.out(line);
    terminal.say(`${total} tokens`);
  }
  return ok(0);
}
