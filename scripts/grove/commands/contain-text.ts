import * as z from "zod";
import { MAX_NAMED_TOKENS } from "../../../src/base/limits.ts";
import { ok } from "../../../src/base/result.ts";
import { asCalled } from "../../local/command-line.ts";
import { ENDED_CHECK, type FoundText, type Token } from "../answer-schemas.ts";
import type { GroveCommand } from "../arguments.ts";
import { type Called, failed } from "../client.ts";
import { harmless, type Session, styled } from "../terminal.ts";
import { readEvents } from "./audit-pages.ts";
import { endTokens } from "./contain.ts";
import { containLease } from "./contain-lease.ts";
import { contextOf, isAlive, type Judged, judge } from "./find-judgements.ts";
import { factLines, headLines, linesOf } from "./find-lines.ts";
import { type TextToFind, textsToFind } from "./find-texts.ts";
import { isConfirmed } from "./revoke.ts";
import { number } from "./token-lines.ts";
import { aliveWrapped, wrappedTokens } from "./wrapped-tokens.ts";

type Wanted = Extract<GroveCommand, { kind: "contain-text" }>;
type Credential = NonNullable<FoundText["credential"]>;

/** A credential that has no tree, and its text. */
interface Leaked {
  readonly text: TextToFind;
  readonly credential: Credential;
}

/**
 * Reads a text as `find` does, and ends what it is: a service token with all below it, a secret-id with the tokens of its
 * logins, a lease alone, or the token of a team or an organization. Of any other text it says what to do. The text is sent only in the
 * body of the question what it is: all else names it by its accessor.
 */
export async function containText(session: Session, wanted: Wanted): Promise<Called<number>> {
  const { client, terminal, json } = session;
  const [text, second] = textsToFind(await terminal.secret("Token or secret-id (it is not shown): "));
  if (!text) return failed("there is no text: give it on standard input");
  if (second) return failed(`this is more than one text: give one; ${asCalled("find")} says what each is`);
  const judged = await judge(client, text);
  if (!judged.ok) return judged;
  const found = judged.value;
  if (!("chosen_id" in found)) return leftAlone(session, found);
  if (found.state === "ended") return endedBefore(session, found);
  if (!isAlive(found)) return leftAlone(session, found);
  const { kind, token, credential } = found;
  const isOfTeam = kind === "team" || kind === "organization";
  if (!token && kind !== "secret-id" && kind !== "lease" && !isOfTeam) return leftAlone(session, found);
  if (json && !wanted.yes) return failed("nothing was ended: with --json nothing is asked; --yes ends it");
  if (!json) for (const line of [...headLines(terminal, found), ...factLines(terminal, found)]) terminal.out(line);
  if (kind === "lease") return containLease(session, wanted, text);
  if (token) return endToken(session, wanted, kind, token);
  if (!credential) return leftAlone(session, found);
  return isOfTeam
    ? deleteTeamToken(session, wanted, { text, credential })
    : containSecretId(session, wanted, { text, credential });
}

/**
 * Ends a token with all below it, and what a wrapping token holds: nobody can take that any more. The text of a root
 * token names this one token, so --include-root, which protects root tokens that a filter matches by chance, is not needed.
 */
async function endToken(session: Session, wanted: Wanted, kind: string, token: Token): Promise<Called<number>> {
  const { terminal, json } = session;
  const { accessor, policies } = token;
  const isRoot = policies.includes("root");
  if (isRoot && !json) terminal.out(styled(terminal, "red", "  it is a root token, to which nothing is forbidden"));
  const inside = kind === "wrapping" ? await wrappedTokens(session, accessor) : ok([]);
  const wrapped = inside.ok ? inside.value : [];
  if (!json) for (const one of wrapped) terminal.out(`  holds the token ${one}, which ends with it`);
  const includeRoot = wanted.includeRoot || isRoot;
  const accessors = [accessor, ...wrapped];
  const ended = await endTokens(session, { ...SELECTED, ...wanted, includeRoot, kind: "contain", accessors });
  if (!ended.ok || ended.value !== 0 || inside.ok) return ended;
  return failed(`a token that it held may be alive: which one is not known (${inside.error.message})`);
}

/** What a selection by accessors leaves open. */
const SELECTED = { filter: {}, job: null, retry: false, dryRun: false } as const;

async function showFound({ client, terminal, json }: Session, found: Judged): Promise<void> {
  if (json) terminal.out(JSON.stringify(found));
  else {
    const context = "chosen_id" in found ? await contextOf(client, found) : null;
    for (const line of linesOf(terminal, found, "", context)) terminal.out(line);
  }
}

/** Shows what is known of a text that this command can't end. */
async function leftAlone(session: Session, found: Judged): Promise<Called<number>> {
  await showFound(session, found);
  return failed("nothing was ended");
}

/** The command can be run twice. The tokens of a JWT's logins, and secrets of leases, outlive what has ended. */
async function endedBefore(session: Session, found: FoundText): Promise<Called<number>> {
  await showFound(session, found);
  if (found.unrevoked_leases) return failed("nothing was ended: it had ended before, but a secret can still be used");
  if (found.kind === "jwt")
    return failed("nothing was ended: it had ended before, and tokens of its logins may live on");
  if (found.kind === "wrapping" && found.token) {
    const left = await aliveWrapped(session, found.token.accessor);
    if (!left.ok) return failed(`it had ended before; what it held is not known: ${left.error.message}`);
    const [alive] = left.value;
    if (alive)
      return failed(
        `it had ended before, but the token that it held is alive: ${asCalled(`contain --accessor ${alive}`)}`,
      );
  }
  if (!session.json) session.terminal.out(styled(session.terminal, "green", "It had ended before."));
  return ok(0);
}

/** Deletes the token of a team or an organization, whose id its accessor is. */
async function deleteTeamToken(session: Session, { yes }: Wanted, leaked: Leaked): Promise<Called<number>> {
  if (!yes && !(await isConfirmed(session.terminal, "Type delete to delete it: ", "delete")))
    return failed("nothing was ended");
  const id = encodeURIComponent(leaked.credential.accessor);
  const deleted = await session.client.call("DELETE", `/api/v2/authentication-tokens/${id}`);
  if (!deleted.ok && deleted.error.status !== 404) return deleted;
  const refused = await proveRefused(session, leaked, "deleted");
  // What the caller may not manage is a 404, as is what has ended.
  return deleted.ok || refused.ok ? refused : failed("it is not deleted: VAULT_TOKEN may not manage its organization");
}

/** Destroys a secret-id, so that no login makes a further token, and ends the tokens of its logins. */
async function containSecretId(session: Session, wanted: Wanted, leaked: Leaked): Promise<Called<number>> {
  const { client, terminal, json } = session;
  const { accessor, path } = leaked.credential;
  if (!json) for (const line of await tokensLines(session, leaked.credential)) terminal.out(line);
  if (!wanted.yes && !(await isConfirmed(terminal, "Type destroy to destroy it: ", "destroy")))
    return failed("nothing was ended");
  const destroy = `${path}/secret-id-accessor/destroy`;
  const destroyed = await client.call("POST", inAddress(destroy), { secret_id_accessor: accessor });
  if (!destroyed.ok && destroyed.error.status === 403) return failed(`VAULT_TOKEN needs update on ${destroy}`);
  if (!destroyed.ok && destroyed.error.status !== 404) return destroyed;
  const refused = await proveRefused(session, leaked, "destroyed");
  // Read again: a login may have made a token before the destruction.
  const made = await tokensOfLogins(session, accessor);
  if (!made.ok) return failed(`which tokens its logins made is not known (${made.error.message}); ${byRole(path)}`);
  const { accessors, unnamed } = made.value;
  const alive = await aliveOf(session, accessors);
  if (!alive.ok) return alive;
  if (alive.value.length > 0) {
    const ended = await endTokens(session, { ...SELECTED, ...wanted, kind: "contain", accessors: alive.value });
    if (!ended.ok || ended.value !== 0) return ended;
  }
  return unnamed === 0 ? refused : failed(`${number(unnamed, "token")} of its logins may be alive; ${byRole(path)}`);
}

/** Asks again about a text that was ended. A login with it, or a request, must be refused. */
async function proveRefused({ client, terminal, json }: Session, { text }: Leaked, done: string) {
  const after = await judge(client, text);
  if (!after.ok) return after;
  const { state, message } = after.value;
  if (isAlive(after.value) || state === "unjudged") return failed(`it is not proved to be ${done}: ${message}`);
  if (json) terminal.out(JSON.stringify({ done, after: after.value }));
  else terminal.out(styled(terminal, "green", `${done}: asked again, it is ${state}`));
  return ok(0);
}

const ROLE = z.object({ token_ends_with_secret_id: z.boolean() });

async function tokensLines(session: Session, { accessor, path }: Credential): Promise<string[]> {
  const made = await tokensOfLogins(session, accessor);
  if (!made.ok) return [`  its tokens are not known: ${made.error.message}`];
  const role = await session.client.get(inAddress(path), ROLE);
  const { accessors, unnamed } = made.value;
  const count = number(accessors.length + unnamed, "token");
  const what = `  its logins made ${count}`;
  if (!role.ok) return [what];
  const verb = accessors.length + unnamed === 1 ? "ends" : "end";
  const isEnding = role.value.token_ends_with_secret_id;
  return [
    `${what}, which ${isEnding ? `${verb} with it, with all below` : `${verb === "end" ? "do" : "does"} not end with it`}`,
  ];
}

/** Service tokens that logins with a secret-id made. */
interface TokensOfLogins {
  readonly accessors: readonly string[];
  /** Number of others: batch tokens, which have no accessor, and those beyond the most that a request names. */
  readonly unnamed: number;
}

/** Reads the logins with a secret-id in the audit store. */
async function tokensOfLogins({ client, terminal }: Session, accessor: string): Promise<Called<TokensOfLogins>> {
  const logins = await readEvents(client, terminal, { accessor, kind: "login" }, Number.POSITIVE_INFINITY);
  if (!logins.ok) return logins;
  const made = logins.value.events.flatMap(({ response }) => response?.auth?.accessor ?? []);
  const accessors = [...new Set(made.filter((one) => one !== ""))];
  const batch = made.filter((one) => one === "").length;
  return ok({
    accessors: accessors.slice(0, MAX_NAMED_TOKENS),
    unnamed: batch + Math.max(0, accessors.length - MAX_NAMED_TOKENS),
  });
}

/** Asks the trees which tokens are alive, or do not answer. */
async function aliveOf({ client, terminal, json }: Session, accessors: readonly string[]): Promise<Called<string[]>> {
  if (accessors.length === 0) return ok([]);
  const checked = await client.post("sys/tokens/verify-ended", ENDED_CHECK, { accessors });
  if (!checked.ok) return checked;
  const { ended, alive, unanswered } = checked.value;
  const left = [...alive, ...unanswered];
  const all = `${number(accessors.length, "token")} of its logins`;
  const count = ended === 0 ? `none of the ${all} has ended yet` : `${ended} of ${all} refused`;
  const next = left.length === 0 ? "" : `; ${left.length === 1 ? "that one is" : "those are"} ended next`;
  if (!json) terminal.out(styled(terminal, left.length === 0 ? "green" : "yellow", `${count}${next}`));
  return ok(left);
}

/** A path in an address: a mount may have any characters. */
const inAddress = (path: string): string => path.split("/").map(encodeURIComponent).join("/");

/** How the tokens of a role are ended that nothing names. */
function byRole(path: string): string {
  const [mount = "", role = ""] = harmless(path).split("/role/");
  return `${asCalled(`contain --mount ${mount}/ --role ${role}`)} ends those of all its secret-ids`;
}
