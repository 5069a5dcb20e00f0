import { err, ok } from "../../../src/base/result.ts";
import { asCalled } from "../../local/command-line.ts";
import {
  AUDIT_VERIFICATION,
  type AuditEvent,
  type AuditEvents,
  type AuditProblem,
  type MadeToken,
} from "../answer-schemas.ts";
import type { GroveCommand } from "../arguments.ts";
import { type Called, type CallFailure, failed, type GroveClient } from "../client.ts";
import { type Part, prose } from "../prose.ts";
import { harmless, renderTable, type Session, styled, type Terminal } from "../terminal.ts";
import { linesOfTree, type Node } from "../tree-lines.ts";
import { withAllBelow } from "./audit-below.ts";
import { eventLines, SECRET_ID, ShownAccessors, useLines } from "./audit-lines.ts";
import { problemOfName } from "./audit-names.ts";
import { readEvents } from "./audit-pages.ts";
import { entityNames } from "./entity-names.ts";
import { MORE_THAN_ONE, oneTokenIn } from "./find-texts.ts";
import { judgeOne } from "./one-text.ts";
import { askerText, number, preciseTime } from "./token-lines.ts";

/** Shows events of the audit store; for a token also its makers, its reads and the tokens below it. */
export async function showEvents(
  { client, terminal, json }: Session,
  { hasText, fields, limit }: Extract<GroveCommand, { kind: "audit" }>,
): Promise<Called<number>> {
  const given = hasText ? (await terminal.secret("Token (it is not shown): ")).trim() : "";
  if (hasText && given === "") return failed("there is no token: give it on standard input");
  const token = oneTokenIn(given);
  if (!token.ok && token.error !== MORE_THAN_ONE) return failed(token.error);
  const most = limit === 0 ? Number.POSITIVE_INFINITY : limit;
  const asked = hasText && token.ok ? { ...fields, token: token.value } : fields;
  const answered = token.ok
    ? await readEvents(client, terminal, asked, most)
    : err({ status: 400, message: token.error });
  const other =
    answered.ok || !hasText ? null : await otherQuestion({ client, terminal }, fields, given, answered.error);
  if (other && !other.ok) return other;
  const question = other?.value ?? asked;
  const own = other ? await readEvents(client, terminal, question, most) : answered;
  if (!own.ok) return own;
  const unknown = await problemOfName(client, question, own.value);
  if (!unknown.ok) return unknown;
  const found = own.value.below ? await withAllBelow(client, terminal, fields, own.value, most) : own;
  if (!found.ok) return found;
  if (json) {
    terminal.out(JSON.stringify(found.value));
    // A program that counts refusals must not take the first page for all of them.
    if (!isAll(found.value)) terminal.say(`${number(found.value.events.length, "event")}${MORE}`);
  } else
    showAnswer(terminal, found.value, {
      entities: await entityNames(client, found.value.events),
      firstMaker: await firstMakerName(client, found.value),
    });
  return ok(0);
}

const MORE = ", the newest, and there are more: --limit 0 shows all";

/** True when an answer has every event of its question. */
const isAll = ({ next, more }: AuditEvents): boolean => next === "" && !more;

/** Names of entities and tokens that an answer has by id only. */
interface Names {
  readonly entities: ReadonlyMap<string, string>;
  /** Name of the first token in the chain of makers; "" when not known. */
  readonly firstMaker: string;
}

/** The token of the first request of a chain has no record of its own: its name is in the event of that request. */
async function firstMakerName(client: GroveClient, { makers = [], events }: AuditEvents): Promise<string> {
  const first = makers.at(-1);
  if (!first || first.made_by === null) return "";
  const shown = events.find(({ request_id: request }) => request === first.request_id);
  if (shown) return shown.auth?.display_name ?? "";
  const answer = await readEvents(client, { progress: () => {} }, { request_id: first.request_id }, 1);
  return (answer.ok && answer.value.events[0]?.auth?.display_name) || "";
}

/**
 * The query about a text that is not a token. The store has the events of a secret-id by its accessor.
 *
 * @param failure of the query by the text.
 */
async function otherQuestion(
  session: Pick<Session, "client" | "terminal">,
  fields: Readonly<Record<string, string>>,
  given: string,
  failure: CallFailure,
): Promise<Called<Readonly<Record<string, string>>>> {
  if (failure.status !== 400) return err(failure);
  const one = await judgeOne(session, given);
  if (!one.ok) return err(failure);
  const { kind, ...found } = one.value.judged;
  if ("chosen_id" in found) {
    const { token, credential } = found;
    if (kind === "secret-id" && credential) return ok({ ...fields, accessor: credential.accessor });
    if (token && kind !== "lease" && found.state !== "mistyped") return ok({ ...fields, accessor: token.accessor });
  }
  return failed(`${failure.message}: ${asCalled("find")} says what it is, and what to ask`);
}

function showAnswer(terminal: Terminal, answer: AuditEvents, { entities, firstMaker }: Names): void {
  const { accessor, makers, ended, events, uses = [], more_uses: moreUses, attempts = [], below, complete } = answer;
  const accessors = new ShownAccessors(terminal);
  // For a secret-id, the events say who made it.
  const isToken = !SECRET_ID.test(accessor ?? "");
  for (const line of makers && isToken ? originLines(terminal, makers, { events, accessor, firstMaker }) : [])
    terminal.out(line);
  if (ended) for (const line of prose(terminal, harmless(endText(ended, accessor)), "    ", "")) terminal.out(line);
  // Not wrapped here: a terminal wraps the line itself, and copies the accessor as one word.
  // A batch token has no accessor: its events have the keyed hash of its text.
  const name = accessor?.startsWith("hmac-") ? "batch token, by its keyed hash," : "accessor";
  if (accessor !== undefined) terminal.out(harmless(`${name} ${accessor}`));
  for (const line of eventLines(terminal, events, accessors, entities)) terminal.out(line);
  if (uses.length > 0) {
    terminal.out("");
    for (const line of useLines(terminal, uses, below, accessors)) terminal.out(line);
    if (moreUses) terminal.say("there are more reads: --since, --json");
  }
  if (attempts.length > 0) {
    terminal.out("");
    terminal.out(styled(terminal, "bold", "Tried with it while it was not valid:"));
    for (const line of eventLines(terminal, attempts, accessors)) terminal.out(line);
  }
  if (below && accessor !== undefined) {
    terminal.out("");
    for (const line of linesOfTree(terminal, treeOf(terminal, accessor, below))) terminal.out(line);
  }
  for (const line of accessors.lines(new Set([accessor ?? "", ...(below ?? []).map((token) => token.accessor)])))
    terminal.out(line);
  if (below)
    terminal.say(
      `${number(below.length, "token")} below it${complete === false ? ", and more that are not shown" : ""}`,
    );
  terminal.say(`${number(events.length, "event")}${isAll(answer) ? "" : MORE}`);
}

/** Who made a token, who made its maker, and so on. */
function originLines(
  terminal: Terminal,
  makers: readonly MadeToken[],
  { events, accessor, firstMaker }: Pick<AuditEvents, "events" | "accessor"> & Pick<Names, "firstMaker">,
): string[] {
  if (makers.length === 0) return unmadeLines(terminal, events, accessor);
  return makers.flatMap((made, at) => {
    const { made_by: maker, time, path, client_address: address, request_id: request } = made;
    const known = makers[at + 1]?.display_name ?? firstMaker;
    const name = maker === null ? loginText(made) : known || "token";
    const how = `${path}, ${preciseTime(time)}${address ? ` from ${address}` : ""}, request ${request}`;
    const indent = "  ".repeat(at);
    const start = at === 0 ? "" : indent;
    const who = `${at === 0 ? "" : "which was "}made by ${name}`;
    if (maker === null) return prose(terminal, harmless(`${who}: ${how}`), `${indent}  `, start);
    // At a terminal the accessor ends the text: it may need a line of its own.
    const text = terminal.columns === null ? `${who} ${maker}: ${how}` : `${who}: ${how}, accessor ${maker}`;
    return prose(terminal, harmless(text), `${indent}  `, start);
  });
}

/** A wrapping token has no maker of its own: it is the answer to a request, whose event names it. */
function unmadeLines(terminal: Terminal, events: readonly AuditEvent[], accessor: string | undefined): string[] {
  const event = events.find(({ response }) => accessor !== undefined && response?.wrap_info?.accessor === accessor);
  if (!event) return ["who made it is not known: there is no record of it, or not any more"];
  const { auth, operation = "", path = "", time, client_address: address, request_id: request } = event;
  const who = auth ? askerText(auth) : "a request without a token";
  const how = `${operation} ${path}, ${preciseTime(time)}${address ? ` from ${address}` : ""}${request ? `, request ${request}` : ""}`;
  return prose(terminal, harmless(`made by ${who}, to wrap the answer: ${how}`), "  ", "");
}

/**
 * What ended a token. A token that ended with its parent, by a watermark or with its entity has no event of its own.
 */
export function endText(
  { at, how, by, cause, request_id: request }: NonNullable<AuditEvents["ended"]>,
  accessor = "",
): string {
  const parts = [
    `${how}${by ? ` by ${askerText(by)}` : ""}`,
    cause !== "" && cause !== accessor && `as ${cause} ended`,
    request !== "" && `request ${request}`,
  ];
  return `ended ${preciseTime(at)}: ${parts.filter((part) => part !== false).join(", ")}`;
}

/** `a login at auth/oidc/ for staff as mallory`. Without a mount it was no login, but the initialization. */
const loginText = ({ mount, role, principal }: MadeToken): string =>
  mount === undefined
    ? "a request without a token"
    : `a login at ${mount}${role ? ` for ${role}` : ""}${principal ? ` as ${principal}` : ""}`;

function treeOf(terminal: Terminal, accessor: string, below: readonly MadeToken[]): Node {
  const made = Map.groupBy(below, (token) => token.made_by ?? "");
  const childrenOf = (maker: string): Node[] =>
    (made.get(maker) ?? []).map((token) => ({
      label: [{ text: harmless(token.display_name || "token"), style: "bold" }, ...madeParts(terminal, token)],
      children: childrenOf(token.accessor),
    }));
  return { label: [{ text: harmless(accessor) }], children: childrenOf(accessor) };
}

function madeParts({ columns }: Terminal, { accessor, path, time, client_address: address }: MadeToken): Part[] {
  const how = { text: harmless(`${path}, ${preciseTime(time)}${address ? ` from ${address}` : ""}`) };
  const whole = { text: harmless(accessor) };
  return columns === null ? [whole, how] : [how, whole];
}

/** Checks the whole audit store. The exit code is 1 when a record was changed or taken out. */
export async function verifyStore({ client, terminal, json }: Session): Promise<Called<number>> {
  const problems: AuditProblem[] = [];
  let [objects, records, cursor] = [0, 0, ""];
  do {
    const part = await client.get("sys/audit/verify", AUDIT_VERIFICATION, { cursor });
    terminal.progress(null);
    if (!part.ok) return part;
    objects += part.value.objects;
    records += part.value.records;
    problems.push(...part.value.problems);
    cursor = part.value.cursor;
    terminal.progress(number(records, "record"));
  } while (cursor !== "");
  terminal.progress(null);
  if (json) terminal.out(JSON.stringify({ objects, records, problems }));
  else {
    const rows = problems.map(({ object, problem, seq }) => [object, problem, String(seq)].map(harmless));
    if (rows.length > 0)
      for (const line of renderTable(terminal, ["OBJECT", "PROBLEM", "RECORD"], rows)) terminal.out(line);
    terminal.say(
      `${number(records, "record")} of ${number(objects, "object")}: ${problems.length === 0 ? "nothing was changed or taken out" : number(problems.length, "problem")}`,
    );
  }
  return ok(problems.length === 0 ? 0 : 1);
}
