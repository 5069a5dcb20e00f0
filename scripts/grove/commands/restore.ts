import { ok } from "../../../src/base/result.ts";
import { type EndsSince, endsSince } from "../../backup/api/ends-since.ts";
import type { Manifest } from "../../backup/api/manifest.ts";
import { type EndedByRestore, restoreBackup } from "../../backup/api/restore.ts";
import { restorableBackup } from "../../backup/api/verify.ts";
import { asCalled } from "../../local/command-line.ts";
import type { EndedSince, Revocation } from "../answer-schemas.ts";
import type { GroveCommand } from "../arguments.ts";
import { type Called, failed } from "../client.ts";
import { prose, sayProse } from "../prose.ts";
import { harmless, renderTable, type Session, type Style, styled, type Terminal } from "../terminal.ts";
import { askerText, number, shortAccessor, shortTime } from "./token-lines.ts";

/** Restores a backup into a server that was never initialized. All its files are verified before anything is sent. */
export async function restoreFrom(
  { client, terminal, json }: Session,
  { from, backup, ends }: Extract<GroveCommand, { kind: "restore" }>,
): Promise<Called<number>> {
  const found = restorableBackup(from, backup);
  if (!found.ok) return failed(found.error);
  const { store, name, manifest } = found.value;
  const progress = (done: number): void => terminal.progress(`${done} of ${number(manifest.parts, "part")}`);
  const restored = await restoreBackup(client, store, manifest, ends, progress);
  if (!restored.ok) return restored;
  const { at, objects, rows } = restored.value;
  terminal.progress(null);
  const notes = whatIsBack(manifest, ends).map(harmless);
  if (json) {
    terminal.out(JSON.stringify({ name, ...restored.value }));
    for (const note of notes) sayProse(terminal, note, "yellow");
    return ok(0);
  }
  terminal.out(
    `${name}: ${number(objects, "object")}, ${number(rows, "row")} are back as of ${at}; the server answers requests`,
  );
  for (const note of notes) for (const line of prose(terminal, note)) terminal.out(styled(terminal, "yellow", line));
  return ok(0);
}

/** What the flags ended, and what is good again although it was revoked after the backup began, at `started_at`. */
function whatIsBack({ started_at: at, finished_at: end }: Manifest, ends: EndedByRestore): string[] {
  const { issuedSince: since, issuedBefore: before } = ends;
  const sinceBegan = since === "" ? null : `issued before ${since}`;
  // A backup may have what was issued until its end.
  const endsAll = before === "now" || Date.parse(before) >= Date.parse(end) || Date.parse(since) <= Date.parse(before);
  const bounds = [...(before === "" ? [] : [`issued from ${before} on`]), ...(sinceBegan ? [sinceBegan] : [])];
  const hasEnded = `Everything issued at ${since} or later has ended, root tokens included. If nobody can log in, make a root token with ${asCalled("generate-root")}.`;
  const is = endsAll
    ? `Root tokens and tokens of teams${sinceBegan ? `, if ${sinceBegan},` : ""} are as they were at ${at}, also those that were revoked since: look at ${asCalled("tokens --policy root")}.`
    : `What was revoked after ${at} is valid again${bounds.length > 0 ? `, if it was ${bounds.join(" and ")}` : ""}: --issued-before now would have ended it. While the old server answers, restore --preview names it.`;
  return since === "" ? [is] : [hasEnded, is];
}

/** Most rows of a table; JSON output has all rows. */
const SHOWN = 100;

const NOT_LISTED =
  "Not named: batch tokens, which are good until their end unless a revocation in the backup ends them, and tokens of teams that were deleted or replaced since, which would be good again.";

/** Shows what a restore would make valid again, from the server that the backup was made of. Changes nothing. `now` in ms. */
export async function previewRestore(
  { client, terminal, json }: Session,
  { from, backup }: Extract<GroveCommand, { kind: "preview" }>,
  now: number,
): Promise<Called<number>> {
  const restorable = restorableBackup(from, backup);
  if (!restorable.ok) return failed(restorable.error);
  const { name, manifest } = restorable.value;
  const { started_at: at } = manifest;
  const found = await endsSince(client, manifest, (looked) => terminal.progress(`${looked} ends`), now);
  terminal.progress(null);
  if (!found.ok) return found;
  if (json) terminal.out(JSON.stringify({ name, at, count: found.value.tokens.length, ...found.value }));
  else show(terminal, name, at, found.value);
  return ok(0);
}

function show(terminal: Terminal, name: string, at: string, { tokens, revocations, gaps }: EndsSince): void {
  if (tokens.length > 0) showTokens(terminal, tokens);
  if (revocations.length > 0) showTable(terminal, ["REVOKED", "AT", "BY"], revocations.map(revocationCells(terminal)));
  const ended = [
    ...(tokens.length > 0 ? [number(tokens.length, "token")] : []),
    ...(revocations.length > 0 ? [`what ${number(revocations.length, "revocation")} by path or entity ended`] : []),
  ].join(", and ");
  const what = tokens.length + revocations.length === 0 ? "nothing that is known of" : ended;
  const style = tokens.length + revocations.length === 0 ? "green" : "yellow";
  const out = (text: string, shownAs?: Style) => {
    for (const line of prose(terminal, text)) terminal.out(shownAs ? styled(terminal, shownAs, line) : line);
  };
  out(`${name} is of ${at}; a restore would make valid again: ${what}`, style);
  for (const gap of gaps) out(`There may be more: ${harmless(gap)}.`, "yellow");
  for (const hint of hints(tokens, revocations)) out(hint);
  out(NOT_LISTED);
}

function hints(tokens: readonly EndedSince[], revocations: readonly Revocation[]): string[] {
  if (tokens.length + revocations.length === 0) return [];
  const first = tokens.map(({ token }) => token.created).sort()[0];
  const all = first === undefined ? "" : `; from ${harmless(first)} on it reaches each of these tokens`;
  return [
    "restore --issued-before now ends them with all else that was issued before, except for root tokens of sys/init and generate-root, and tokens of teams.",
    `restore --not-before T ends all that was issued at T or later, root tokens too${all}.`,
    `Or revoke them again after the restore, before clients return: ${asCalled("revoke --accessor A")} (with --include-root for root tokens),`,
    "POST sys/tokens/revoke with the accessors that --json gives, at most 900 a call, and sys/leases/revoke-prefix for paths.",
  ];
}

function showTable(terminal: Terminal, head: readonly string[], rows: readonly (readonly string[])[]): void {
  const shown = rows.slice(0, SHOWN).map((cells) => cells.map(harmless));
  for (const line of renderTable(terminal, head, shown, ["ACCESSOR", "AT"])) terminal.out(line);
  if (rows.length > SHOWN) terminal.out(othersText(rows.length));
}

const othersText = (count: number): string => `... and ${count - SHOWN} others (--json has all)`;

/** At a terminal each accessor has its own line below its token, to be copied. */
function showTokens(terminal: Terminal, tokens: readonly EndedSince[]): void {
  const cellsOf = tokenCells(terminal);
  if (terminal.columns === null) {
    showTable(
      terminal,
      ["ACCESSOR", ...TOKEN_HEAD],
      tokens.map((one) => [one.token.accessor, ...cellsOf(one)]),
    );
    return;
  }
  const rows = tokens.slice(0, SHOWN).map((one) => cellsOf(one).map(harmless));
  const [head = "", ...lines] = renderTable(terminal, TOKEN_HEAD, rows, ["ENDED"]);
  terminal.out(head);
  for (const [at, line] of lines.entries()) {
    terminal.out(line);
    terminal.out(styled(terminal, "dim", harmless(tokens[at]?.token.accessor ?? "")));
  }
  if (tokens.length > SHOWN) terminal.out(othersText(tokens.length));
}

const TOKEN_HEAD = ["NAME", "ENDED", "HOW", "BY"];

const tokenCells =
  (terminal: Terminal) =>
  ({ token, ended }: EndedSince): string[] => [
    token.display_name,
    shortTime(ended.at),
    ended.how,
    askerCell(terminal, ended.by),
  ];

const revocationCells =
  (terminal: Terminal) =>
  ({ prefix, entity_id: entity, issued_since: since, time, asked_by }: Revocation): string[] => {
    const scope = prefix ?? (entity === undefined ? `issued since ${since ?? "?"}` : `entity ${entity}`);
    return [scope, shortTime(time), askerCell(terminal, asked_by)];
  };

/** Who asked; at a terminal with the end of the accessor. */
function askerCell({ columns }: Terminal, by: EndedSince["ended"]["by"]): string {
  if (!by) return "-";
  return askerText(columns === null ? by : { ...by, accessor: shortAccessor(by.accessor) });
}
