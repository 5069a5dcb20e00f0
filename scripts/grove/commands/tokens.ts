import type * as z from "zod";
import { err, ok } from "../../../src/base/result.ts";
import { ENDS, PAGE, SUMMARY, type Token } from "../answer-schemas.ts";
import type { Filter, GroveCommand } from "../arguments.ts";
import { type Called, failed } from "../client.ts";
import { byWhatWasTyped } from "../id-formats.ts";
import { sayProse } from "../prose.ts";
import { harmless, renderTable, type Session } from "../terminal.ts";
import { namesOfEntities } from "./entity-names.ts";
import { count } from "./revoke.ts";
import { NO_VALUE, number, tokenTable } from "./token-lines.ts";
import { NOT_LISTED, unknownName } from "./unknown-names.ts";

const PAGE_SIZE = 1000;

/** Shows tokens; all of them with the limit 0. */
export async function showTokens(
  session: Session,
  { filter, sort, limit }: Extract<GroveCommand, { kind: "tokens" }>,
): Promise<Called<number>> {
  const { client, terminal, json } = session;
  const most = limit === 0 ? Number.POSITIVE_INFINITY : limit;
  const tokens: Token[] = [];
  let next = "";
  do {
    const size = String(Math.min(PAGE_SIZE, most - tokens.length));
    const page = await client.get("sys/tokens", PAGE, { ...filter, sort, limit: size, after: next });
    terminal.progress(null);
    if (!page.ok) return err(byWhatWasTyped(page.error, { filter }));
    tokens.push(...page.value.tokens);
    next = page.value.next;
    if (next !== "") terminal.progress(`${tokens.length} tokens`);
  } while (next !== "" && tokens.length < most);
  terminal.progress(null);
  const unknown = tokens.length === 0 ? await unknownName(client, filter) : null;
  if (unknown !== null) return failed(unknown);
  if (json) terminal.out(JSON.stringify(tokens));
  else for (const line of tokenTable(terminal, tokens, true)) terminal.out(line);
  if (!json && terminal.columns !== null && tokens.length > 0) terminal.say("all columns: --json, or into a file");
  // A program that reads the JSON must not take one page for all tokens.
  const of = next === "" ? "" : ` of ${await totalText(session, filter)}: --limit 0 shows all`;
  terminal.say(`${number(tokens.length, "token")}${of}`);
  if (!json) {
    const { display_name: name } = filter;
    if (tokens.length === 0 && typeof name === "string") {
      terminal.say(
        `names of tokens begin with their method, such as token-${harmless(name)}: --search finds parts of names`,
      );
    }
    if (tokens.length === 0 && filter.search !== undefined) sayProse(terminal, NOT_LISTED());
  }
  return ok(0);
}

/** The number of all tokens that match, or "more" when the token may not count. */
async function totalText(session: Session, filter: Filter): Promise<string> {
  if (Object.keys(filter).length === 0) {
    const summary = await session.client.get("sys/tokens/summary", SUMMARY);
    return summary.ok ? String(summary.value.total) : "more";
  }
  const counted = await count(session, { ...filter, include_root: true, include_self: true });
  return counted.ok ? String(counted.value.count) : "more";
}

/** Most groups of an answer. */
const MAX_GROUPS = 1_000;

/** The label of the tokens in no group that is shown. By tree, these are alone in their trees. */
function othersOf(by: string, isCut: boolean): string {
  if (isCut) return `(others: more groups, or ${NO_VALUE})`;
  return by === "tree" ? "(alone in their trees)" : NO_VALUE;
}

/** Shows numbers of tokens by group. */
export async function countTokens(
  session: Session,
  { by, filter }: Extract<GroveCommand, { kind: "count" }>,
): Promise<Called<number>> {
  const { client, terminal, json } = session;
  const summary = await client.get("sys/tokens/summary", SUMMARY, { ...filter, group_by: by });
  if (!summary.ok) return err(byWhatWasTyped(summary.error, { filter }));
  if (json) terminal.out(JSON.stringify(summary.value));
  else await showCounts(session, by, summary.value, MAX_GROUPS);
  return ok(0);
}

/** Most groups of an answer about ends, and the longest interval of its counts (seconds). */
const MAX_ENDS = 100;
const LONGEST_PART = 31 * 86_400;

/** Shows by group how many tokens end in a period. */
export async function countEnds(
  session: Session,
  { by, mount, from, to }: Extract<GroveCommand, { kind: "ends" }>,
): Promise<Called<number>> {
  const { client, terminal, json } = session;
  const seconds = Math.ceil((Date.parse(to) - Date.parse(from)) / 1000);
  const parts = Math.ceil(seconds / LONGEST_PART);
  const time = { from, step: String(Math.ceil(seconds / parts)), parts: String(parts) };
  const ends = await client.get("sys/tokens/ends", ENDS, { group_by: by, mount, ...time, limit: String(MAX_ENDS) });
  if (!ends.ok) return err(byWhatWasTyped(ends.error, { filter: { mount } }));
  const { groups, total, other } = ends.value;
  if (json) terminal.out(JSON.stringify(ends.value));
  else await showCounts(session, by, { groups, total, other: other.count }, MAX_ENDS);
  return ok(0);
}

type Counts = Pick<z.infer<typeof SUMMARY>, "groups" | "total" | "other">;

/** @param most how many groups an answer can have. */
async function showCounts(
  { client, terminal }: Pick<Session, "client" | "terminal">,
  by: string,
  { groups, total, other }: Counts,
  most: number,
): Promise<void> {
  const ids = by === "entity" ? groups.map(({ key }) => key) : [];
  const names = await namesOfEntities(client, ids);
  const labelOf = (key: string) => (names.has(key) ? `${names.get(key)} (${key})` : key || NO_VALUE);
  const rows = groups.map(({ key, count }) => [String(count), harmless(labelOf(key))]);
  const rest = other > 0 ? [[String(other), othersOf(by, groups.length >= most)]] : [];
  for (const line of renderTable(terminal, ["TOKENS", by.toUpperCase()], [...rows, ...rest])) terminal.out(line);
  terminal.say(number(total, "token"));
}
