import { ok } from "../../../src/base/result.ts";
import { FOUND_TEXT, type FoundText } from "../answers.ts";
import { type Called, failed, type GroveClient } from "../client.ts";
import { prose } from "../flow.ts";
import { harmless, type Session, type Style, styled, type Terminal } from "../terminal.ts";
import { DEPLOYMENT_SECRET_KEPT, type TextToFind, textsToFind } from "./find-texts.ts";
import { askerText, number, pairsText, shortTime } from "./token-lines.ts";

/** Most texts of one call. */
const MAX_TEXTS = 1_000;

/** The answer about a text, or that there is none. */
type Judged = FoundText | { readonly state: "unjudged"; readonly message: string };

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

/**
 * Says of each token in what was found what it is. It comes from standard input or is typed without an echo: what stands in a
 * command line is seen by other users of the machine and kept in histories. The exit code is 1 when one of them can be
 * used, could be again, or can't be judged.
 */
export async function findTexts({ client, terminal, json }: Session): Promise<Called<number>> {
  const given = await terminal.secret("Text to look for, one line (it is not shown): ");
  const texts = textsToFind(given);
  if (texts.length === 0) return failed("there is no text: give it on standard input");
  if (texts.length > MAX_TEXTS) return failed(`these are ${texts.length} texts: give at most ${MAX_TEXTS} at a time`);
  const hasLines = given.trim().includes("\n");
  const judged: Judged[] = [];
  for (const text of texts) {
    terminal.progress(texts.length > 1 ? `${judged.length} of ${texts.length} texts` : null);
    const found = await judge(client, text);
    if (!found.ok) return found;
    judged.push(found.value);
    terminal.progress(null);
    const where = hasLines ? `, ${linesText(text)}` : "";
    if (json) terminal.out(JSON.stringify({ lines: text.lines, ...found.value }));
    else for (const line of await linesOf({ client, terminal }, found.value, where)) terminal.out(line);
  }
  if (texts.length > 1) terminal.say(totalText(judged));
  return ok(judged.some(isDangerous) ? 1 : 0);
}

const IS_SECRET = `${DEPLOYMENT_SECRET_KEPT} Treat it as leaked unless you know that it is not one of this deployment.`;

/** Statuses by which the server rejects one text: the others can still be asked about. */
const NOT_ACCEPTED: ReadonlySet<number | null> = new Set([400, 413]);

/** Asks about a text; of several candidates about the first one that something is known of. */
async function judge(client: GroveClient, { candidates }: TextToFind): Promise<Called<Judged>> {
  if (candidates.length === 0) return ok({ state: "unjudged", message: IS_SECRET });
  let first: Judged | null = null;
  for (const token of candidates) {
    const found = await client.post("sys/tokens/find", FOUND_TEXT, { token });
    if (!found.ok && !NOT_ACCEPTED.has(found.error.status)) return found;
    const one: Judged = found.ok
      ? found.value
      : { state: "unjudged", message: "The server does not accept this text." };
    if (one.state !== "unknown" || ("kind" in one && one.kind !== "")) return ok(one);
    first ??= one;
  }
  return ok(first ?? { state: "unjudged", message: "" });
}

/** `line 3`, `lines 3, 7 and 12 others`. */
function linesText({ lines }: TextToFind): string {
  const shown = lines.slice(0, SHOWN_LINES).join(", ");
  const others = lines.length - SHOWN_LINES;
  return `${lines.length === 1 ? "line" : "lines"} ${shown}${others > 0 ? ` and ${number(others, "other")}` : ""}`;
}

const SHOWN_LINES = 3;

/** `6 texts: 1 live, 5 unknown`. */
function totalText(judged: readonly Judged[]): string {
  const counts = STATES.map((state) => [state, judged.filter((one) => one.state === state).length] as const);
  const parts = counts.filter(([, count]) => count > 0).map(([state, count]) => `${count} ${wordOf(state)}`);
  return `${number(judged.length, "text")}: ${parts.join(", ")}`;
}

const wordOf = (state: Judged["state"]): string => (state === "unjudged" ? "not judged" : state);

/** A refused token is as dangerous as a live one once its entity is enabled. */
const isAlive = ({ state }: Judged): boolean => state === "live" || state === "refused";
const isDangerous = (one: Judged): boolean => isAlive(one) || one.state === "unjudged";

/** @param where the lines of the text; "" for the only one. */
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
  if (judged.state === "unjudged") return head;
  return [...head, ...factLines(terminal, judged), ...(await nextLines(client, judged))];
}

function factLines(terminal: Terminal, found: FoundText): string[] {
  const { state, token, ended, credential, chosen_id: isChosen } = found;
  const about = token ?? credential;
  const facts: readonly (readonly [name: string, value: string | null | undefined])[] = [
    ["name", about?.display_name],
    ["accessor", about?.accessor],
    ["id", isChosen ? "chosen by root" : ""],
    ["path", about?.path],
    ["role", token?.role],
    ["policies", about?.policies.join(", ")],
    ["entity", about?.entity_id],
    ["metadata", about && pairsText(about.metadata)],
    ["created", about?.created && shortTime(about.created)],
    ["ends", about && isAlive(found) ? (about.expires === null ? "never" : shortTime(about.expires)) : ""],
    ["last used", token?.last_used && `in the hour from ${shortTime(token.last_used)}`],
    ["below it", token && state !== "ended" && token.children > 0 ? childrenText(token.children) : ""],
    ["ends with", credential?.parent],
    [
      "ended",
      ended && `${shortTime(ended.at)}, ${ended.how}${ended.by ? ` by ${askerText(ended.by, "a token")}` : ""}`,
    ],
    ["by request", ended?.request_id],
  ];
  return facts
    .filter(([, value]) => value)
    .flatMap(([name, value]) => prose(terminal, harmless(value ?? ""), " ".repeat(13), `  ${name.padEnd(10)} `));
}

/** The list knows the children of a token; its tree knows all below it. */
const childrenText = (count: number): string =>
  `${count} ${count === 1 ? "child" : "children"}, with all below ${count === 1 ? "it" : "them"} (grove tree counts them)`;

/** What to do next. A mistyped text shows the token that it resembles. */
async function nextLines(client: GroveClient, found: FoundText): Promise<string[]> {
  const { state, token, credential, kind } = found;
  if (!isAlive(found) && state !== "ended") return [];
  if (token) {
    const about = `  who made it, and what it did: grove audit ${token.accessor}`;
    return isAlive(found) ? [about, `  revoke it with all below: grove contain --accessor ${token.accessor}`] : [about];
  }
  if (kind !== "batch") return [];
  const about = "  what it did: grove audit - (which reads the text as this command does)";
  if (!isAlive(found) || !credential) return [about];
  return [about, ...(await batchEndLines(client, credential))];
}

/** A batch token is in no list: it ends with its parent, or with all that its path or its entity got. */
async function batchEndLines(
  client: GroveClient,
  { parent, path, entity_id: entity }: NonNullable<FoundText["credential"]>,
): Promise<string[]> {
  if (parent !== null) {
    const asked = await client.post("sys/tokens/find", FOUND_TEXT, { accessor: parent });
    // Revoking a root token with all its descendants would be out of proportion.
    const isRoot = asked.ok && (asked.value.token?.policies ?? []).includes("root");
    if (!isRoot) return [`  revoke it with its parent and everything below that: grove contain --accessor ${parent}`];
  }
  return [
    `  revoke it with everything issued at its path: bao lease revoke -prefix ${harmless(path)}`,
    ...(entity === ""
      ? []
      : [
          `  or with everything issued to its entity: bao write identity/entity/id/${entity}/not-before not_before=now`,
        ]),
    "  (docs/leases.md, What ends at once)",
  ];
}
