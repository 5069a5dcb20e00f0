import { ok } from "../../../src/base/result.ts";
import {
  AUDIT_VERIFICATION,
  type AuditEvent,
  type AuditEvents,
  type AuditProblem,
  type MadeToken,
} from "../answers.ts";
import type { GroveCommand } from "../arguments.ts";
import { type Called, failed } from "../client.ts";
import { harmless, linesOfTree, type Node, renderTable, type Session, styled, type Terminal } from "../terminal.ts";
import { withAllBelow } from "./audit-below.ts";
import { problemOfName } from "./audit-names.ts";
import { readEvents } from "./audit-pages.ts";
import { number, shortAccessor } from "./token-lines.ts";

/** Shows events of the audit store; of a token who made it, its reads, and what hangs below it. */
export async function showEvents(
  { client, terminal, json }: Session,
  { hasText, fields, limit }: Extract<GroveCommand, { kind: "audit" }>,
): Promise<Called<number>> {
  const token = hasText ? (await terminal.secret("Token (it is not shown): ")).trim() : "";
  if (hasText && token === "") return failed("there is no token: give it on standard input");
  if (/\s/.test(token)) return failed("this is more than one text: give one token");
  const question = hasText ? { ...fields, token } : fields;
  const most = limit === 0 ? Number.POSITIVE_INFINITY : limit;
  const own = await readEvents(client, terminal, question, most);
  if (!own.ok) return own;
  const unknown = await problemOfName(client, question, own.value);
  if (!unknown.ok) return unknown;
  const found = own.value.below ? await withAllBelow(client, terminal, fields, own.value, most) : own;
  if (!found.ok) return found;
  if (json) terminal.out(JSON.stringify(found.value));
  else showAnswer(terminal, found.value);
  return ok(0);
}

function showAnswer(terminal: Terminal, answer: AuditEvents): void {
  const { accessor, makers, events, uses = [], more_uses: moreUses, attempts = [], below, complete } = answer;
  for (const line of makers ? originLines(makers, events) : []) terminal.out(harmless(line));
  if (accessor !== undefined) terminal.out(harmless(`accessor ${accessor}`));
  for (const line of eventLines(terminal, events)) terminal.out(line);
  if (uses.length > 0) {
    terminal.out("");
    for (const line of useLines(terminal, uses, below)) terminal.out(line);
    if (moreUses) terminal.say("there are more reads: --since, --json");
  }
  if (attempts.length > 0) {
    terminal.out("");
    terminal.out(styled(terminal, "bold", "Tried with it while it was not valid:"));
    for (const line of eventLines(terminal, attempts)) terminal.out(line);
  }
  if (below && accessor !== undefined) {
    terminal.out("");
    for (const line of linesOfTree(treeOf(terminal, accessor, below))) terminal.out(line);
    terminal.say(
      `${number(below.length, "token")} below it${complete === false ? ", and more that are not shown" : ""}`,
    );
  }
  if (terminal.columns !== null && events.length > 0)
    terminal.say("whole accessors and ids of requests: --json, or into a file");
  const isAll = answer.next === "" && !answer.more;
  terminal.say(`${number(events.length, "event")}${isAll ? "" : " of more: --limit 0 shows all"}`);
}

/** Reads by hour and address; where there are those of several tokens, also by whom. */
function useLines(
  terminal: Terminal,
  uses: NonNullable<AuditEvents["uses"]>,
  below: readonly MadeToken[] | undefined,
): string[] {
  const names = new Map(below?.map((token) => [token.accessor, token.display_name]));
  const nameOf = (accessor: string) => {
    const shown = terminal.columns === null ? accessor : shortAccessor(accessor);
    return `${shown} ${names.get(accessor) ?? ""}`.trim();
  };
  const rows = uses.map(({ hour, last, address, count, accessor = "" }) =>
    [preciseTime(hour), preciseTime(last), String(count), address ?? "-", ...(below ? [nameOf(accessor)] : [])].map(
      harmless,
    ),
  );
  return renderTable(
    terminal,
    ["READS IN THE HOUR", "LAST", "COUNT", "FROM", ...(below ? ["BY"] : [])],
    rows,
    WHOLE_OF_READS,
  );
}

/** Who made a token, then how its maker was made, and so on. */
function originLines(makers: readonly MadeToken[], events: readonly AuditEvent[]): string[] {
  if (makers.length === 0) return ["who made it is not known: there is no record of it, or not any more"];
  return makers.map((made, at) => {
    const { made_by: maker, time, path, client_address: address, request_id: request } = made;
    const known = events.find((event) => event.request_id === request)?.auth ?? makers[at + 1];
    const name = maker === null ? loginText(made) : `${known?.display_name || "token"} ${maker}`;
    const who = at === 0 ? "made by" : `${"  ".repeat(at)}which was made by`;
    return `${who} ${name}: ${path}, ${preciseTime(time)}${address ? ` from ${address}` : ""}, request ${request}`;
  });
}

/** `a login at auth/oidc/ for staff as mallory`. Without a mount it was no login, but the initialization. */
const loginText = ({ mount, role, principal }: MadeToken): string =>
  mount === undefined
    ? "a request without a token"
    : `a login at ${mount}${role ? ` for ${role}` : ""}${principal ? ` as ${principal}` : ""}`;

const HEAD = ["TIME", "RESULT", "REQUEST", "BY", "FROM", "ABOUT", "REQUEST ID"];

/** Columns that are not cut. */
const WHOLE = ["TIME", "RESULT"];
const WHOLE_OF_READS = ["READS IN THE HOUR", "LAST"];

/** A terminal gets the columns that have something, and each failure with its request and reason in a second line. */
function eventLines(terminal: Terminal, events: readonly AuditEvent[]): string[] {
  if (events.length === 0) return [];
  const isWide = terminal.columns === null;
  const rows = events.map((event) => cellsOf(event, isWide).map(harmless));
  const isUsed = (_: unknown, at: number) => isWide || (at < HEAD.length - 1 && rows.some((row) => row[at] !== ""));
  const shown = rows.map((row) => row.filter(isUsed));
  const [head = "", ...lines] = renderTable(terminal, HEAD.filter(isUsed), shown, WHOLE);
  const withReasons = lines.flatMap((line, at) => {
    const { status = 0, error = "", request_id: request } = events[at] ?? {};
    return isWide || status < 400 ? [line] : [line, `    ${harmless(`${error}; request ${request ?? "unknown"}`)}`];
  });
  return [head, ...withReasons];
}

function cellsOf(event: AuditEvent, isWide: boolean): string[] {
  const { kind, type, time, operation, path, auth, status = 0, client_address: address, request_id: request } = event;
  const name = (accessor: string) => (isWide ? accessor : shortAccessor(accessor));
  const cells = {
    TIME: isWide ? preciseTime(time) : preciseTime(time).slice("2026-".length),
    RESULT: status < 400 ? kind : `${kind} ${status}`,
    REQUEST: path === undefined ? type : `${operation} ${path}`,
    BY: auth ? `${name(auth.accessor)} ${auth.display_name}`.trim() : "",
    FROM: address ?? "",
    ABOUT: aboutText(event, name, isWide),
    "REQUEST ID": request ?? "",
  };
  return Object.values(cells);
}

/** What the request made, ended or was about. */
function aboutText(event: AuditEvent, name: (accessor: string) => string, withError: boolean): string {
  const { response, target_accessor: target, target_accessors: targets = [], role, principal, count, error } = event;
  const made = response?.auth;
  return [
    made && ["made", name(made.accessor), made.display_name].filter((word) => word !== "").join(" "),
    target && `token ${name(target)}`,
    targets.length > 0 && targets.map(name).join(" "),
    role && `role ${role}`,
    principal,
    count !== undefined && String(count),
    withError && error,
  ]
    .filter((part) => typeof part === "string" && part !== "")
    .join(", ");
}

function treeOf(terminal: Terminal, accessor: string, below: readonly MadeToken[]): Node {
  const made = Map.groupBy(below, (token) => token.made_by ?? "");
  const childrenOf = (maker: string): Node[] =>
    (made.get(maker) ?? []).map((token) => ({
      label: `${styled(terminal, "bold", harmless(token.display_name || "token"))} ${harmless(madeText(token))}`,
      children: childrenOf(token.accessor),
    }));
  return { label: harmless(accessor), children: childrenOf(accessor) };
}

const madeText = ({ accessor, path, time, client_address: address }: MadeToken): string =>
  `${accessor} ${path}, ${preciseTime(time)}${address ? ` from ${address}` : ""}`;

/** A time in UTC, to the second. */
function preciseTime(time: string): string {
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/.test(time) ? `${time.slice(0, 10)} ${time.slice(11, 19)}Z` : time;
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
