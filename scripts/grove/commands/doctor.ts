import * as z from "zod";
import { ok } from "../../../src/base/result.ts";
import { commandsAsCalled, helpAsCalled } from "../../local/command-line.ts";
import type { Answer, Called, CallFailure, GroveClient } from "../client.ts";
import { prose, sayProse } from "../prose.ts";
import { harmless, renderTable, type Session, type Style, styled } from "../terminal.ts";
import { attention, type Check, failing, fine, unknown } from "./check.ts";
import { checkCopies } from "./copies-check.ts";
import { shortTime } from "./token-lines.ts";

const CHECK = z.object({
  name: z.string(),
  title: z.string(),
  state: z.string(),
  seen: z.string(),
  advice: z.string(),
  link: z.string(),
});
const ANSWER = z.object({ checks: z.array(CHECK) });

const STYLES: Readonly<Record<string, Style>> = { ok: "green", attention: "yellow", failing: "red", unknown: "dim" };

/**
 * Shows the checks of the server, and the checks that only a client can make. The exit code is 1 when a check fails, or
 * when the checks of the server can't be read, as nothing is known of the server then.
 *
 * @param copies a directory of this machine with backups; null: none is known.
 * @param environment may have the seal keys, which are tried on the newest of the copies.
 */
export async function examine(
  { client, terminal, json }: Session,
  copies: string | null,
  environment: NodeJS.ProcessEnv,
): Promise<Called<number>> {
  terminal.progress("the server");
  const health = await client.call("GET", "sys/health?sealedcode=299&uninitcode=298");
  const server = await checkServer(client, health);
  // Without an answer to the first check, the others would fail too.
  const seen = server.state === "failing" ? [server] : [server, ...(await checkRest(client, terminal))];
  if (copies !== null) terminal.progress("the copies");
  const checks =
    copies === null ? seen : withCopies(seen, await checkCopies(copies, clusterIdIn(health), environment, Date.now()));
  terminal.progress(null);
  if (json) terminal.out(JSON.stringify(checks));
  else {
    show(terminal, checks);
    sayProse(terminal, summaryOf(checks));
  }
  const isUnseen = checks.some(({ name, state }) => name === UNSEEN && state === "unknown");
  return ok(isUnseen || checks.some(({ state }) => state === "failing") ? 1 : 0);
}

/** Adds the check of the backups on this machine. It replaces the server's check of backups when the server knows none. */
function withCopies(checks: readonly Check[], copies: Check): readonly Check[] {
  return [...checks.filter(({ name, state }) => name !== "backups" || state !== "unknown"), copies];
}

const SUMMARIES = [
  ["failing", "act on"],
  ["attention", "look at"],
  ["unknown", "not known"],
] as const;

/** The checks with a finding by what to do, in a line below the table, which may be longer than the screen. */
function summaryOf(checks: readonly Check[]): string {
  const parts = SUMMARIES.flatMap(([state, what]) => {
    const titles = checks.filter((one) => one.state === state).map(({ title }) => harmless(title));
    return titles.length === 0 ? [] : [`${what}: ${titles.join(", ")}`];
  });
  return parts.length === 0 ? "nothing to do" : parts.join("; ");
}

/** The results, with advice below the first finding that needs it, in lines that fit the terminal. */
function show(terminal: Session["terminal"], checks: readonly Check[]): void {
  const titles = checks.map(({ state, title }) => [state, title, ""]);
  const [head = "", ...starts] = renderTable({ colours: false, columns: null }, ["", "CHECK", "SEEN"], titles);
  const margin = head.indexOf("SEEN");
  terminal.out(styled(terminal, "bold", head));
  const said = new Set<string>();
  for (const [at, start] of starts.entries()) {
    const { state, seen, advice, link } = checks[at] ?? { state: "ok", seen: "", advice: "", link: "" };
    const [first = "", ...more] = prose(terminal, harmless(seen), " ".repeat(margin), start.padEnd(margin));
    terminal.out(styled(terminal, STYLES[state] ?? "dim", first.slice(0, state.length)) + first.slice(state.length));
    const todo = `${commandsAsCalled(harmless(advice))}${link === "" ? "" : ` (${helpAsCalled(harmless(link))})`}`;
    const isNew = advice !== "" && !said.has(todo);
    said.add(todo);
    for (const line of [...more, ...(isNew ? prose(terminal, todo, "    ") : [])]) terminal.out(line);
  }
}

const HEALTH = z.object({
  initialized: z.boolean(),
  sealed: z.boolean(),
  grove_version: z.string().default("unknown"),
  cluster_id: z.string().nullable().catch(null),
});

/** The id of the installation in an answer of `sys/health`; null for a server that does not name it. */
function clusterIdIn(health: Called<Answer>): string | null {
  return health.ok ? (HEALTH.safeParse(health.value.body).data?.cluster_id ?? null) : null;
}

const NOT_INITIALISED =
  "If it had tokens, do not: it was started with another --data, or its data are gone. If it is new, send PUT /v1/sys/init once, with the GROVE_INIT_TOKEN of the deployment as the token where it has one, or start from a file by grove init FILE.";

/** @param answered the answer of `sys/health`. */
async function checkServer(client: GroveClient, answered: Called<Answer>): Promise<Check> {
  const [name, title] = ["server", "Server"];
  if (!answered.ok) return judgeFailure(name, title, answered.error);
  const health = HEALTH.safeParse(answered.value.body);
  if (!health.success) return failing(name, title, "it does not speak this interface", "Is VAULT_ADDR right?");
  const { initialized, sealed, grove_version: version } = health.data;
  if (!initialized) {
    const refused = await client.call("GET", "sys/auth");
    return !refused.ok && refused.error.fault !== undefined
      ? judgeFailure(name, title, refused.error)
      : failing(name, title, "not initialised", NOT_INITIALISED, "docs/self-hosting.md");
  }
  if (!sealed) return fine(name, title, `Grove ${version}, ready`);
  // Only a refusal says what is wrong with the seal key.
  const refused = await client.call("GET", "sys/auth");
  const message = refused.ok || refused.error.fault !== "sealed" ? "sealed" : refused.error.message;
  return judgeFailure(name, title, { status: 503, message, fault: "sealed" });
}

/** What the operator does about a fault that the server names, and where it is described. */
const FAULTS: Readonly<Record<string, readonly [advice: string, link: string]>> = {
  sealed: [
    "Start the server with the right GROVE_SEAL_KEY; without any copy of it the tokens are lost.",
    "docs/runbook.md#seal-key-lost-or-wrong",
  ],
  disk_full: ["Make space; it then works without a restart.", "docs/runbook.md#the-disk-is-full"],
  database_damaged: [
    "Read which in the server's output, stop the server, and bring a backup of the whole directory back.",
    "docs/runbook.md#a-database-is-damaged",
  ],
  installation_lost: ["Do not initialize it: bring a backup back.", "docs/runbook.md#installation-lost"],
};

/** A call that failed, with what to do about it. */
function judgeFailure(name: string, title: string, { status, message, fault }: CallFailure): Check {
  const known = fault === undefined ? undefined : FAULTS[fault];
  if (known) return failing(name, title, message, ...known);
  if (status === null) return failing(name, title, message, "Is VAULT_ADDR right, and does it run?", NO_ANSWER);
  if (status === 503)
    return failing(name, title, message, "See the server's output.", "docs/runbook.md#an-object-is-overloaded");
  // What is in front of the server answers these.
  if (status === 502 || status === 504)
    return failing(name, title, message, "Does the server behind the proxy run?", NO_ANSWER);
  if (status === 404) return failing(name, title, message, "Is the path in VAULT_ADDR right?", NO_ANSWER);
  return failing(name, title, message, "See the server's output.", "docs/runbook.md#requests-end-in-500");
}

const NO_ANSWER = "docs/runbook.md#the-server-does-not-start";

async function checkRest(client: GroveClient, terminal: Session["terminal"]): Promise<readonly Check[]> {
  const address = checkAddress(client);
  terminal.progress("the token");
  const token = await checkToken(client);
  terminal.progress("the installation");
  const time = (Date.now() / 1000).toFixed(3);
  const answered = await client.get("sys/doctor", ANSWER, { client_time: time });
  // A fault of the server would be reported by each further check.
  if (!answered.ok && answered.error.fault !== undefined)
    return [address, judgeFailure(UNSEEN, UNSEEN_TITLE, answered.error)];
  // What a refused token may do is no question.
  if (token.link === NO_ROOT) return [address, token];
  const own = [address, token, await checkList(client)];
  return [...own, ...(answered.ok ? answered.value.checks : [unanswered(answered.error)])];
}

const LOOPBACK = /^(localhost|127\.[\d.]+|\[::1\])$/;

/** Judges the address by which the server is called. */
export function checkAddress({ url }: Pick<GroveClient, "url">): Check {
  const [name, title] = ["address", "Address"];
  if (url.protocol === "https:" || LOOPBACK.test(url.hostname)) return fine(name, title, url.origin);
  const advice = "Every token goes over the network in the clear: put TLS in front.";
  return failing(name, title, `${url.origin} has no TLS`, advice, "docs/self-hosting.md");
}

const NO_OTHER = "If no administrator has a token, grove generate-root makes a root token.";
const NO_ROOT = "docs/runbook.md#there-is-no-root-token";

const SELF = z.object({
  policies: z.array(z.string()),
  expire_time: z.string().nullish(),
});

async function checkToken(client: GroveClient): Promise<Check> {
  const [name, title] = ["token", "This token"];
  if (client.isAnonymous) return failing(name, title, "VAULT_TOKEN is not set", `Log in. ${NO_OTHER}`, NO_ROOT);
  const self = await client.get("auth/token/lookup-self", SELF);
  if (!self.ok && self.error.status === 403)
    return failing(
      name,
      title,
      `VAULT_TOKEN is refused: ${self.error.message}`,
      `Log in again; grove find says what this one is. ${NO_OTHER}`,
      NO_ROOT,
    );
  if (!self.ok) return judgeFailure(name, title, self.error);
  const { policies, expire_time: end } = self.value;
  const seen = `policies ${policies.join(",")}, ${end ? `ends ${shortTime(end)}` : "never ends"}`;
  return policies.includes("root")
    ? attention(name, title, seen, "Daily work needs no root token.", "docs/runbook.md#a-root-token-lives")
    : fine(name, title, seen);
}

/** Whether the method LIST reaches the server. */
export async function checkList(client: GroveClient): Promise<Check> {
  const [name, title] = ["list_method", "Method LIST"];
  const listed = await client.call("LIST", "sys/policies/acl");
  if (listed.ok) return fine(name, title, "answered");
  const { status } = listed.error;
  // Statuses of HTTP parsers that do not know the method.
  if (status === 400 || status === 405 || status === 501) {
    const seen = "refused before Grove sees it";
    return attention(name, title, seen, "hvac and node-vault need the gateway.", "docs/gateway.md");
  }
  return status === 403
    ? unknown(name, title, "VAULT_TOKEN needs list on sys/policies/acl")
    : judgeFailure(name, title, listed.error);
}

/** The name of the check that replaces the server's checks when they can't be read. */
const UNSEEN = "installation";
const UNSEEN_TITLE = "Installation";

/** A refusal by policies, or an endpoint that an older server lacks, is no fault of the server. */
function unanswered(failure: CallFailure): Check {
  const [name, title] = [UNSEEN, UNSEEN_TITLE];
  if (failure.status === 403) return unknown(name, title, "VAULT_TOKEN needs read and sudo on sys/doctor");
  return failure.status === 404
    ? unknown(name, title, "the server is of an older release")
    : judgeFailure(name, title, failure);
}
