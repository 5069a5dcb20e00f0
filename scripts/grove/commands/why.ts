import { statSync } from "node:fs";
import { open } from "node:fs/promises";
import * as z from "zod";
import { ok } from "../../../src/base/result.ts";
import { asCalled } from "../../local/command-line.ts";
import { type Line as InputLine, linesIn } from "../../local/long-lines.ts";
import { EXPLANATION } from "../answer-schemas.ts";
import type { GroveCommand } from "../arguments.ts";
import { type Called, failed, type GroveClient } from "../client.ts";
import { isMalformed, nothingIs } from "../id-formats.ts";
import { sayProse } from "../prose.ts";
import { harmless, type Session } from "../terminal.ts";
import { endText } from "./audit.ts";
import { readEvents } from "./audit-pages.ts";
import { showExplanation } from "./explain.ts";
import { askerText } from "./token-lines.ts";
import { isLogin, loginTexts, noPolicyText, refusedByQuota, wasRefused } from "./why-login.ts";
import { noEndpoint, requestIdIn, searchFor, withoutId } from "./why-text.ts";

/** A response in an audit log, or an event of the audit store. Unknown fields are dropped. */
const LINE = z.object({
  type: z.enum(["response", "gateway"]),
  time: z.string(),
  request_id: z.string(),
  operation: z.string(),
  path: z.string(),
  status: z.number(),
  error: z.string().nullish(),
  client_address: z.string().nullish(),
  mount: z.string().nullish(),
  role: z.string().nullish(),
  principal: z.string().nullish(),
  check: z.object({ name: z.string(), description: z.string() }).nullish(),
  target_entities: z.array(z.string()).nullish(),
  token_hash: z.string().nullish(),
  auth: z.object({ accessor: z.string(), display_name: z.string(), token_type: z.string() }).nullish(),
});
type Line = z.infer<typeof LINE>;

/**
 * Explains a request: who asked for what, and what the policies of that token say of it now. The request is read from the
 * audit store, or from an audit log if one is named.
 *
 * Without --log, standard input is read only where it can be a log: in a loop of a shell it is the list of the loop.
 */
export async function explainRequest(
  session: Session,
  wanted: Extract<GroveCommand, { kind: "why" }>,
): Promise<Called<number>> {
  const { terminal } = session;
  // The whole answer goes to standard output: the reason belongs in the ticket, with the policy.
  return explain({ ...session, terminal: { ...terminal, say: (line) => terminal.out(line) } }, wanted);
}

async function explain(
  session: Session,
  { request, log }: Extract<GroveCommand, { kind: "why" }>,
): Promise<Called<number>> {
  const { client, terminal, json } = session;
  const found = await findRequest(session, request, log);
  if (!found.ok) return found;
  const line = found.value;
  if (!json) for (const text of await factsOf(client, line)) sayProse(terminal, harmless(text));
  const ended = await endedToken(client, line);
  const reason = ended?.text ?? unaskable(line);
  if (reason !== null) {
    if (json) terminal.out(JSON.stringify({ request: line, explanation: null, message: reason }));
    else {
      sayProse(terminal, harmless(reason));
      for (const text of nextCommand(line, ended?.accessor)) terminal.say(harmless(text));
    }
    return ok(line.status < 400 ? 0 : 1);
  }
  const { operation, path, client_address: address } = line;
  const asked = {
    accessor: line.auth?.accessor,
    path,
    operation: OPERATIONS.has(operation) ? operation : "read",
    ...(typeof address === "string" && { client_address: address }),
  };
  const answer = await client.post("sys/explain/access", EXPLANATION, asked);
  if (!answer.ok) return answer;
  if (json) terminal.out(JSON.stringify({ request: line, explanation: answer.value }));
  else {
    showExplanation(terminal, answer.value);
    if (answer.value.allowed && isWrongInItself(line)) sayProse(terminal, WRONG_IN_ITSELF);
    for (const text of nextCommand(line)) terminal.say(harmless(text));
  }
  return ok(answer.value.allowed && !isWrongInItself(line) ? 0 : 1);
}

const OPERATIONS: ReadonlySet<string> = new Set(["read", "list", "scan", "create", "update", "patch", "delete"]);

/** The line of a request, or of the last refused one (null). @param log a file, or - for standard input; null: none. */
async function findRequest(session: Session, request: string | null, log: string | null): Promise<Called<Line>> {
  const { terminal } = session;
  if (log !== null && log !== "-") {
    if (statSync(log).isDirectory()) return failed(`${log} is a directory`);
    return ofLog(session, await findLine(linesOfFile(log), request), request);
  }
  // At a terminal "-" means the last refused request in the store, as there is no log to read.
  if (log === "-" || (request === null && !terminal.interactive)) {
    const found = await findLine(terminal.lines(), request);
    // Without a terminal, as in a script, standard input may be empty and no log.
    if (log === "-" || found !== null) return ofLog(session, found, request);
  }
  return ofStore(session, request);
}

async function ofStore(session: Session, request: string | null): Promise<Called<Line>> {
  const event = await findEvent(session, request);
  if (!event.ok) return event;
  if (event.value) return ok(event.value);
  return failed(request === null ? NONE_REFUSED : unknownText(request));
}

async function ofLog(session: Session, found: Found | null, request: string | null): Promise<Called<Line>> {
  if (found?.line) return ok(found.line);
  if (request !== null)
    return failed(isMalformed("request", request) ? unknownText(request) : `no line of the log has the id ${request}`);
  if (!found || found.isLog) return failed("no line of the log is of a refused request");
  const id = requestIdIn(found.text);
  return id === null ? failed(withoutId(found.text)) : ofStore(session, id);
}

function unknownText(request: string): string {
  const text = nothingIs("request", request);
  return isMalformed("request", request) ? `${text}. ${searchFor(request)}` : text;
}

async function* linesOfFile(file: string): AsyncIterable<InputLine> {
  const handle = await open(file);
  try {
    yield* linesIn(handle.createReadStream({ autoClose: false }));
  } finally {
    await handle.close();
  }
}

/** Statuses of a refusal. The others from 400 on mean that the request was wrong. */
const REFUSALS: ReadonlySet<number> = new Set([401, 403, 429]);

/** True for a request that was refused for its content, not by a policy. */
const isWrongInItself = ({ status }: Line): boolean => status >= 400 && status < 500 && !REFUSALS.has(status);

const WRONG_IN_ITSELF =
  "So no policy refused it. The request asks for what is not possible, as its error says: with the same content it is refused again.";

/** True for a request that was refused, and for a login, whatever its status says. */
function isRefused(line: Line): boolean {
  return REFUSALS.has(line.status) || (isWrongInItself(line) && isLogin(line) && wasRefused(line));
}

/** What was found in an input. */
interface Found {
  readonly line: Line | null;
  /** False for an input without lines of an audit log, such as the error message of a client. */
  readonly isLog: boolean;
  /** The beginning of the input. */
  readonly text: string;
}

/** Part of a line of an audit log. */
const IN_LOG = /"type":\s*"(?:request|response|gateway)"/;
/** Longest text in which the id of a request is looked for, in characters. */
const MAX_TEXT = 65_536;

/**
 * Returns the line of a request, or of the last refused one. Lines that do not belong to an audit log are skipped. null for
 * an empty input.
 */
async function findLine(lines: AsyncIterable<InputLine>, request: string | null): Promise<Found | null> {
  let found: Line | null = null;
  let [isLog, beginning] = [false, ""];
  for await (const { text } of lines) {
    if (beginning.length < MAX_TEXT) beginning = `${beginning}${text}\n`.slice(0, MAX_TEXT);
    if (request !== null && !text.includes(request)) continue;
    isLog ||= IN_LOG.test(text);
    const line = readLine(text);
    if (!line) continue;
    if (request === null ? isRefused(line) : line.request_id === request) found = line;
    if (found && request !== null) break;
  }
  return beginning === "" ? null : { line: found, isLog, text: beginning };
}

/** Most failed requests among which the last refused one is looked for. */
const LOOKED_AT = 100;
const NONE_REFUSED = `none of the last ${LOOKED_AT} requests that failed was refused: ${asCalled("audit --kind refusal")} shows more`;

/** Returns the event of a request, or of the last refused one, from the audit store. */
async function findEvent({ client, terminal }: Session, request: string | null): Promise<Called<Line | null>> {
  const question = request === null ? { kind: "refusal" } : { request_id: request };
  const answer = await readEvents(client, terminal, question, request === null ? LOOKED_AT : 1);
  if (!answer.ok) return answer;
  const lines = answer.value.events.flatMap((event) => LINE.safeParse(event).data ?? []);
  return ok(lines.find((line) => request !== null || isRefused(line)) ?? null);
}

function readLine(text: string): Line | null {
  const start = text.indexOf("{");
  if (start === -1) return null;
  try {
    const read = LINE.safeParse(JSON.parse(text.slice(start)));
    return read.success ? read.data : null;
  } catch {
    return null;
  }
}

async function factsOf(client: GroveClient, line: Line): Promise<string[]> {
  const { type, time, operation, path, status, error, auth, token_hash: hash, client_address: address } = line;
  if (type === "response" && isLogin(line)) {
    const token = auth ? [`its token: ${auth.display_name} ${auth.accessor}`] : [];
    return [...(await loginTexts(client, line)), ...token];
  }
  // A malformed request, or one above a quota, is refused before its token is read.
  const withoutToken = hash ? "no valid token" : "a client without a token, or whose token was not read";
  const caller = auth ? askerText(auth, "a token") : withoutToken;
  return [
    `${time}: ${operation} ${path}, status ${status}${error ? `: ${error}` : ""}`,
    `by ${caller}${address ? `, from ${address}` : ""}`,
  ];
}

/**
 * The command that shows the other requests of the token, of the entity, or of the address.
 *
 * @param of accessor of the token; by default that of the request.
 */
function nextCommand(
  { auth, check, target_entities: entities, client_address: address }: Line,
  of = auth?.accessor,
): string[] {
  const [entity] = entities ?? [];
  if (check && entity) return [`who disabled its entity: ${asCalled(`audit --entity ${entity}`)}`];
  if (of) return [`who made it, and what else was done: ${asCalled(`audit ${of}`)}`];
  return address ? [`what else came from there: ${asCalled(`audit --address ${address}`)}`] : [];
}

/** Most events of an address that are searched for the token of a request. */
const LOOKED_THROUGH = 500;

/**
 * Finds the ended token of a request that was refused without a valid token, and says when and how it ended. An earlier
 * event from the same address with the same keyed hash names the token. Null without such an event, or when the token has
 * not ended.
 */
async function endedToken(
  client: GroveClient,
  { type, auth, status, time, client_address: address, token_hash: hash }: Line,
): Promise<{ readonly accessor: string; readonly text: string } | null> {
  if (type !== "response" || auth || !hash || !address || status !== 403) return null;
  const before = await readEvents(client, QUIET, { address, until: time }, LOOKED_THROUGH);
  const events = before.ok ? before.value.events : [];
  const token = events.find((event) => event.token_hash === hash && event.auth?.accessor)?.auth;
  if (!token) return null;
  const own = await readEvents(client, QUIET, { accessor: token.accessor }, 1);
  const ended = own.ok ? own.value.ended : undefined;
  return ended
    ? { accessor: token.accessor, text: `Its token, ${token.display_name}, ${endText(ended, token.accessor)}.` }
    : null;
}

/** A terminal that shows no progress. */
const QUIET = { progress: () => {} };

/** The errors in the log of a 404 for a path without an endpoint. */
const NO_ENDPOINTS: ReadonlySet<string> = new Set(["no handler for route", "unsupported path"]);

/** True for a path without an endpoint. The log has `<unknown>` in its place, except for words of the API. */
const isOfNoEndpoint = ({ path, status, error }: Line): boolean =>
  path.includes("<unknown>") || (status === 404 && NO_ENDPOINTS.has(error ?? ""));

/** Whose a token is that is in no tree. */
const ownerOf = (type: string): string => (type === "organization" ? "an organization" : `a ${type}`);

/** Why the server can't be asked about this request; null when it can. */
function unaskable(line: Line): string | null {
  const { type, path, auth, status, token_hash: hash } = line;
  if (type === "gateway") return "The gateway answered it itself: Grove was not asked.";
  if (isLogin(line)) return noPolicyText(line);
  if (isOfNoEndpoint(line)) return noEndpoint(path);
  if (/<(?:token|malformed)>/.test(path))
    return "The log does not have the whole path, so no policy can be asked about it.";
  if (status === 429) return `No policy was asked: ${refusedByQuota()}`;
  if (!auth && !hash && isWrongInItself(line))
    return "It was refused before a token was read, for what its error says: with the same content it is refused again.";
  if (!auth && !hash) return "It had no token, or it was refused before its token was read.";
  if (!auth)
    return `Its token was not valid: it had ended, or is mistyped. ${asCalled("find")} says of its text which.`;
  if (auth.token_type === "batch")
    return "It is of a batch token, which has no accessor: sys/explain/access takes its text.";
  if (auth.token_type !== "service")
    return `It is of the token of ${ownerOf(auth.token_type)}: sys/explain/access takes its text.`;
  return null;
}
