import * as z from "zod";
import { ok } from "../../../src/base/result.ts";
import { asCalled, helpAsCalled } from "../../local/command-line.ts";
import type { Line } from "../../local/long-lines.ts";
import { FOUND_TEXT, type FoundText, LINEAGE, type Lineage } from "../answer-schemas.ts";
import { type Called, failed, type GroveClient } from "../client.ts";
import { deleteTeamTokenCommand, writeCommand } from "../curl.ts";
import { prose, sayProse } from "../prose.ts";
import { harmless, type Session, type Style, styled, type Terminal } from "../terminal.ts";
import { BY_FORM, DEPLOYMENT_SECRET_KEPT, FoundTexts, type TextToFind, textsToFind } from "./find-texts.ts";
import { failingLine } from "./leases.ts";
import { askerText, countText, number, pairsText, shortTime } from "./token-lines.ts";

/** Texts that are asked about in parallel. */
const AT_ONCE = 16;
/** Most distinct texts that are kept before they are asked about, so that each is asked about once. */
const MAX_KEPT = 10_000;

/** The answer about a text, or "unjudged" without one. */
type Judged = FoundText | { readonly state: "unjudged"; readonly kind: ""; readonly message: string };

const STATES: readonly Judged["state"][] = ["live", "refused", "unjudged", "mistyped", "elsewhere", "ended", "unknown"];

const STYLES: Readonly<Record<Judged["state"], Style>> = {
  live: "red",
  refused: "yellow",
  unjudged: "red",
  ended: "green",
  mistyped: "yellow",
  elsewhere: "yellow",
  unknown: "dim",
};

/** The exit code when no text can be used, and some could not be judged, or resemble a token that can. */
const NOT_JUDGED = 3;

/**
 * Looks up every token in a text. The text comes from standard input or is typed without an echo: other users of the machine
 * see a command line, and shells keep it. The exit code is 1 when a token can be used or could become usable again, else 3
 * when one can't be judged, or lacks or has other characters than a token that can be used.
 *
 * @param wholeLines whether each of several lines is also asked about as a whole, for custom ids.
 */
export async function findTexts(session: Session, wholeLines: boolean): Promise<Called<number>> {
  const { terminal } = session;
  if (!terminal.piped || wholeLines) return findInWhole(session);
  const input = terminal.lines()[Symbol.asyncIterator]();
  const first: Line[] = [];
  // A single line may be a custom id. In several lines only texts with the form of a credential are looked for.
  while (first.length < 2) {
    const { value, done } = await input.next();
    if (done) return findInWhole(session, first[0]?.text ?? "");
    if (value.text.trim() !== "") first.push(value);
  }
  return findInLines(session, first, input);
}

/** Looks up the texts of an input that is read as a whole. */
async function findInWhole(session: Session, read?: string): Promise<Called<number>> {
  const given = read ?? (await session.terminal.secret("Text to look for, one line (it is not shown): "));
  const texts = textsToFind(given);
  if (texts.length === 0) return failed("there is no text: give it on standard input");
  const report = new Report(session, given.trim().includes("\n"), true);
  const asked = await judgeAll(session, texts, report);
  return asked.ok ? ok(report.end(null)) : asked;
}

/** Looks up texts with the form of a credential in a stream of lines. */
async function findInLines(
  session: Session,
  first: readonly Line[],
  input: AsyncIterator<Line>,
): Promise<Called<number>> {
  const texts = new FoundTexts(BY_FORM);
  const report = new Report(session, true, false);
  let last = 0;
  for (const line of first) texts.add(line);
  for (let next = await input.next(); !next.done; next = await input.next()) {
    texts.add(next.value);
    last = next.value.number;
    if (last % SHOWN_EVERY === 0) session.terminal.progress(number(last, "line"));
    if (texts.size < MAX_KEPT) continue;
    const asked = await judgeAll(session, texts.take(false), report);
    if (!asked.ok) return asked;
  }
  const asked = await judgeAll(session, texts.take(true), report);
  return asked.ok ? ok(report.end(Math.max(last, first.at(-1)?.number ?? 0))) : asked;
}

/** Lines between two updates of the progress. */
const SHOWN_EVERY = 10_000;

async function judgeAll({ client, terminal }: Session, texts: readonly TextToFind[], report: Report) {
  for (let at = 0; at < texts.length; at += AT_ONCE) {
    if (texts.length > 1) terminal.progress(`${at} of ${number(texts.length, "text")}`);
    const group = texts.slice(at, at + AT_ONCE);
    const judged = await Promise.all(group.map((text) => judge(client, text)));
    terminal.progress(null);
    for (const [index, text] of group.entries()) {
      const one = judged[index];
      if (!one?.ok) return one ?? failed("");
      await report.show(text, one.value);
    }
  }
  return ok(null);
}

/** Shows answers as they come, and counts them. */
class Report {
  readonly #session: Session;
  readonly #hasLines: boolean;
  readonly #showsAll: boolean;
  readonly #counts = new Map<Judged["state"], number>();
  /** The first lines of the texts in each state. */
  readonly #lines = new Map<Judged["state"], number[]>();
  #mayBeUsed = false;
  /** Whether the secret of a lease can be used, of a token or a lease that ended. */
  #hasSecrets = false;

  /** @param hasLines whether answers name the lines of their texts. @param showsAll also texts that nothing is known of. */
  constructor(session: Session, hasLines: boolean, showsAll: boolean) {
    this.#session = session;
    this.#hasLines = hasLines;
    this.#showsAll = showsAll;
  }

  async show(text: TextToFind, judged: Judged): Promise<void> {
    const { client, terminal, json } = this.#session;
    // Logs are full of accessors, which are no secrets.
    if (!this.#showsAll && "token" in judged && text.candidates.includes(judged.token?.accessor ?? "")) return;
    this.#counts.set(judged.state, this.#count(judged.state) + 1);
    this.#mayBeUsed ||= "chosen_id" in judged && mayBeAlive(judged);
    this.#hasSecrets ||= "unrevoked_leases" in judged && judged.unrevoked_leases !== undefined;
    const lines = this.#lines.get(judged.state) ?? [];
    this.#lines.set(judged.state, lines);
    if (lines.length < SUMMED_LINES) lines.push(...text.lines.slice(0, SUMMED_LINES - lines.length));
    if (!this.#showsAll && judged.state === "unknown" && judged.kind === "") return;
    const where = this.#hasLines ? `, ${linesText(text)}` : "";
    const { others } = text;
    if (json) terminal.out(JSON.stringify({ lines: text.lines, ...(others > 0 && { more_lines: others }), ...judged }));
    else for (const line of await linesOf({ client, terminal }, judged, where)) terminal.out(line);
  }

  /**
   * Shows the totals. Returns the exit code. @param lines number of lines in which only texts with the form of a credential
   * were looked for; null for a whole text.
   */
  end(lines: number | null): number {
    const { terminal } = this.#session;
    const all = [...this.#counts.values()].reduce((sum, count) => sum + count, 0);
    const parts = STATES.flatMap((state) => {
      const count = this.#count(state);
      return count === 0 ? [] : [`${count} ${wordOf(state)}${this.#where(state)}`];
    });
    const counts = parts.length === 0 ? "" : `: ${parts.join(", ")}`;
    if (lines === null && all > 1) terminal.say(`${number(all, "text")}${counts}`);
    if (lines !== null)
      sayProse(
        terminal,
        `${number(lines, "line")}, ${number(all, "text")} in the form of a token or another credential${counts}. Ids and secret-ids that were chosen have no form: --whole-lines asks about each line.`,
      );
    if (this.#count("live") + this.#count("refused") > 0 || this.#hasSecrets) return 1;
    return this.#count("unjudged") > 0 || this.#mayBeUsed ? NOT_JUDGED : 0;
  }

  /** ` (lines 2, 7, …)`. */
  #where(state: Judged["state"]): string {
    const lines = [...new Set(this.#lines.get(state))].sort((a, b) => a - b);
    if (!this.#hasLines || lines.length === 0) return "";
    const more = lines.length === SUMMED_LINES ? ", …" : "";
    return ` (${lines.length === 1 ? "line" : "lines"} ${lines.join(", ")}${more})`;
  }

  #count(state: Judged["state"]): number {
    return this.#counts.get(state) ?? 0;
  }
}

const IS_SECRET = `${DEPLOYMENT_SECRET_KEPT} Treat it as leaked unless you know that it is not one of this deployment.`;

/** Statuses by which the server rejects one text: the others can still be asked about. */
const NOT_ACCEPTED: ReadonlySet<number | null> = new Set([400, 413]);

const unjudged = (message: string): Judged => ({ state: "unjudged", kind: "", message });

/** The states in which a text is known for what it is. */
const IS_DECIDED: ReadonlySet<Judged["state"]> = new Set(["live", "refused", "ended"]);
/** When no candidate is decided, the answer is the one whose state is first in this list. */
const BY_KNOWLEDGE = ["unjudged", "mistyped", "elsewhere", "unknown"] as const;

/** Asks about a text: about its candidates in turn, until one is known for what it is. */
async function judge(client: GroveClient, { candidates }: TextToFind): Promise<Called<Judged>> {
  if (candidates.length === 0) return ok(unjudged(IS_SECRET));
  const answers: Judged[] = [];
  for (const token of candidates) {
    const found = await client.post("sys/tokens/find", FOUND_TEXT, { token });
    if (!found.ok && !NOT_ACCEPTED.has(found.error.status)) return found;
    const one: Judged = found.ok ? found.value : unjudged("The server does not accept this text.");
    if (IS_DECIDED.has(one.state) || (one.state === "unknown" && one.kind !== "")) return ok(one);
    answers.push(one);
  }
  const [first = unjudged("")] = BY_KNOWLEDGE.flatMap((state) => answers.filter((one) => one.state === state));
  return ok(first);
}

/** `line 3`, `lines 3, 7 and 12 others`. */
function linesText({ lines, others: uncounted }: TextToFind): string {
  const shown = lines.slice(0, SHOWN_LINES).join(", ");
  const others = lines.length - SHOWN_LINES + uncounted;
  return `${lines.length === 1 ? "line" : "lines"} ${shown}${others > 0 ? ` and ${number(others, "other")}` : ""}`;
}

const SHOWN_LINES = 3;
/** Most lines that the totals name of a state. */
const SUMMED_LINES = 20;

const wordOf = (state: Judged["state"]): string => (state === "unjudged" ? "not judged" : state);

/** A refused token is as dangerous as a live one once its entity is enabled. */
const isAlive = ({ state }: Judged): boolean => state === "live" || state === "refused";

/** Also a mistyped text that resembles a token that has not ended. */
const mayBeAlive = (found: FoundText): boolean => isAlive(found) || (found.state === "mistyped" && !found.ended);

/** @param where the lines of the text; "" for a single text. */
async function linesOf(
  { client, terminal }: Pick<Session, "client" | "terminal">,
  judged: Judged,
  where: string,
): Promise<string[]> {
  const word = wordOf(judged.state);
  const [first = "", ...more] = prose(terminal, `${word}${where}: ${harmless(judged.message)}`);
  const head = [
    styled(terminal, STYLES[judged.state], first.slice(0, word.length)) + first.slice(word.length),
    ...more,
  ];
  if (!("chosen_id" in judged)) return head;
  const lineage = await lineageOf(client, judged);
  return [
    ...head,
    ...factLines(terminal, judged, lineage),
    ...unrevokedLines(judged),
    ...(await nextLines(client, judged)),
  ];
}

/** The ancestors of a live token, and what would end with it; null when that can't be asked. */
async function lineageOf(client: GroveClient, found: FoundText): Promise<Lineage | null> {
  if (!found.token || !isAlive(found) || found.kind === "lease") return null;
  const asked = await client.get(`sys/tokens/${encodeURIComponent(found.token.accessor)}`, LINEAGE);
  return asked.ok ? asked.value : null;
}

/** Leases whose secrets outlive their token, and how they are sent again. */
function unrevokedLines({ unrevoked_leases: leases }: FoundText): string[] {
  if (!leases) return [];
  return [
    ...leases.failures.map(failingLine),
    `  sends them again, once their service answers: ${asCalled("leases --retry")}`,
    `  (${helpAsCalled("docs/runbook.md")}, Leases are not revoked)`,
  ];
}

function factLines(terminal: Terminal, found: FoundText, lineage: Lineage | null): string[] {
  const { state, token, ended, credential, chosen_id: isChosen } = found;
  const about = token ?? credential;
  const facts: readonly (readonly [name: string, value: string | null | undefined])[] = [
    ["name", about?.display_name],
    ["accessor", about?.accessor],
    ["id", isChosen ? "chosen by root" : ""],
    ["made by", madeByText(lineage)],
    ["path", about?.path],
    ["role", token?.role],
    ["policies", about?.policies.join(", ")],
    ["entity", about?.entity_id],
    ["metadata", about && pairsText(about.metadata)],
    ["created", about?.created && shortTime(about.created)],
    ["ends", about && mayBeAlive(found) ? (about.expires === null ? "never" : shortTime(about.expires)) : ""],
    ["last used", token?.last_used && `in the hour from ${shortTime(token.last_used)}`],
    ["below it", token && state !== "ended" && token.children > 0 ? childrenText(token.children) : ""],
    ["leases", lineage && lineage.leases.count > 0 ? `${countText(lineage.leases, "lease")}, with those below it` : ""],
    ["ends with", credential?.parent],
    [
      "ended",
      ended && `${shortTime(ended.at)}, ${ended.how}${ended.by ? ` by ${askerText(ended.by, "a token")}` : ""}`,
    ],
    ["by request", ended?.request_id],
    ["by job", ended?.job],
  ];
  return facts
    .filter(([, value]) => value)
    .flatMap(([name, value]) => prose(terminal, harmless(value ?? ""), " ".repeat(13), `  ${name.padEnd(10)} `));
}

/** The parent, with its owner: it made the token. */
function madeByText(lineage: Lineage | null): string {
  const parent = lineage?.ancestors.at(-1);
  if (!parent) return "";
  const entity = parent.entity_id === "" ? "" : `, of the entity ${parent.entity_id}`;
  return `its parent, ${askerText(parent)}${entity}`;
}

/** The list counts only the children of a token; `tree` counts all descendants. */
const childrenText = (count: number): string =>
  `${count} ${count === 1 ? "child" : "children"}, with all below ${count === 1 ? "it" : "them"}`;

/** What to do next. */
async function nextLines(client: GroveClient, found: FoundText): Promise<string[]> {
  const { state, token, credential, kind, mounts = [] } = found;
  if (kind === "jwt" || kind === "identity-document") return loginTextLines(found, mounts);
  // The holder of a mistyped text may also have the token that it resembles.
  const isNear = state === "mistyped" && token !== undefined;
  if (!isAlive(found) && state !== "ended" && !isNear) return [];
  if (kind === "secret-id" && credential) return secretIdLines(credential);
  if (token) {
    const hasChildren = token.children > 0;
    const about = [
      hasChildren
        ? `  who made it, and what it and all below it did: ${asCalled(`audit ${token.accessor} --below`)}`
        : `  who made it, and what it did: ${asCalled(`audit ${token.accessor}`)}`,
      ...(state === "ended"
        ? []
        : [`  what is above${hasChildren ? " and below" : ""} it: ${asCalled(`tree ${token.accessor}`)}`]),
    ];
    const root = token.policies.includes("root") ? " --include-root" : "";
    const self = (await isOwn(client, token.accessor)) ? " --include-self" : "";
    const end = `  revoke it with all below${isNear ? ", if its text may have leaked as well" : ""}: ${asCalled(`contain --accessor ${token.accessor}${root}${self}`)}`;
    if (!mayBeAlive(found)) return found.ended?.job ? [...about, receiptLine(found.ended.job)] : about;
    return [...about, end];
  }
  if (kind !== "batch" && !credential) return [];
  const team = credential?.metadata.team_id;
  if (state === "ended" && team) return endedTeamLines(team, credential.accessor);
  const about = `  what it did: ${asCalled("audit -")} (which reads the text as this command does)`;
  if (!isAlive(found) || !credential) return [about];
  return kind === "batch" ? [about, ...(await batchEndLines(client, credential))] : teamLines(credential);
}

const receiptLine = (job: string): string => `  what else that job ended: ${asCalled(`contain --job ${job}`)}`;

const SELF = z.object({ accessor: z.string() });

/** True for the token of this command, which a revocation leaves out without --include-self. */
async function isOwn(client: GroveClient, accessor: string): Promise<boolean> {
  if (client.isAnonymous) return false;
  const self = await client.get("auth/token/lookup-self", SELF);
  return self.ok && self.value.accessor === accessor;
}

/** Most mounts that commands are shown for. */
const SHOWN_MOUNTS = 3;

/** Tokens of a JWT's logins do not end with the JWT. The log has the subject of each login, and never the JWT. */
function loginTextLines({ state }: FoundText, mounts: readonly string[]): string[] {
  if (state !== "unjudged" && state !== "ended") return [];
  const shown = mounts.slice(0, SHOWN_MOUNTS).map((mount) => harmless(mount));
  return [
    ...shown.flatMap((mount) => [
      `  logins at ${mount}: ${asCalled(`audit --mount ${mount} --kind login`)}`,
      `  end the tokens of a role's logins: ${asCalled(`contain --mount ${mount} --role NAME`)}`,
    ]),
    ...(shown.length === 0 ? [] : [`  (${helpAsCalled("docs/runbook.md")}, A secret-id has leaked, at its end)`]),
  ];
}

/**
 * A team records its last tokens that ended. Of others only the audit store has something. The ids of a team and of its
 * tokens begin alike.
 */
function endedTeamLines(team: string, accessor: string): string[] {
  if (accessor !== "") return [`  who made it, what it did, and who ended it: ${asCalled(`audit ${accessor}`)}`];
  const own = team.replace(/^team-/, "").slice(0, TEAM_BEGINNING);
  return [
    `  who made tokens of this team, and when: ${asCalled(`audit --path teams/${team}/authentication-token`)}`,
    `  who deleted one by its id: ${asCalled(`audit --path authentication-tokens/at-${own}`)}`,
  ];
}

/** Characters that the ids of a team and of its tokens have in common. */
const TEAM_BEGINNING = 8;

/** A token of a team or an organization is not in the list of tokens, and is deleted by its id. */
function teamLines({ accessor, metadata: of }: NonNullable<FoundText["credential"]>): string[] {
  return [
    `  who made it, and what it did: ${asCalled(`audit ${accessor}`)}`,
    `  delete it: ${deleteTeamTokenCommand(accessor)}`,
    `  (${helpAsCalled("docs/runbook.md")}, A token has leaked${of.team ? "; a new one is made on the page of its team" : ""})`,
  ];
}

/** A secret-id is listed by its role. Tokens of its logins outlive it unless the role says otherwise. */
function secretIdLines({ accessor, path }: NonNullable<FoundText["credential"]>): string[] {
  const destroy = writeCommand(`${path}/secret-id-accessor/destroy`, { secret_id_accessor: accessor });
  return [
    `  who made it, and its logins: ${asCalled(`audit ${accessor}`)}`,
    `  destroy it: ${destroy}`,
    `  (${helpAsCalled("docs/runbook.md")}, A secret-id has leaked: also the tokens that it gave)`,
  ];
}

/** A batch token can't be revoked alone: it ends with its parent, or with a revocation by path or entity. */
async function batchEndLines(
  client: GroveClient,
  { parent, path, entity_id: entity }: NonNullable<FoundText["credential"]>,
): Promise<string[]> {
  if (parent !== null) {
    const asked = await client.post("sys/tokens/find", FOUND_TEXT, { accessor: parent });
    // Revoking a root token with all its descendants would be out of proportion.
    const isRoot = asked.ok && (asked.value.token?.policies ?? []).includes("root");
    if (!isRoot)
      return [`  revoke it with its parent and everything below that: ${asCalled(`contain --accessor ${parent}`)}`];
  }
  return [
    `  revoke it with everything issued at its path: ${writeCommand(`sys/leases/revoke-prefix/${path}`)}`,
    ...(entity === ""
      ? []
      : [
          `  or with everything issued to its entity: ${writeCommand(`identity/entity/id/${entity}/not-before`, { not_before: "now" })}`,
        ]),
    `  (${helpAsCalled("docs/leases.md")}, What ends at once)`,
  ];
}
