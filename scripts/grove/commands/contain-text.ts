import { ok } from "../../../src/base/result.ts";
import { asCalled, helpAsCalled } from "../../local/command-line.ts";
import type { FoundText, Token } from "../answer-schemas.ts";
import type { GroveCommand } from "../arguments.ts";
import { type Called, failed } from "../client.ts";
import { harmless, type Session, styled } from "../terminal.ts";
import { containAccessors } from "./contain.ts";
import { containSecretId, deleteTeamToken } from "./contain-credential.ts";
import { containLease, revokeLease } from "./contain-lease.ts";
import { contextOf, isAlive, type Judged, judge } from "./find-judgements.ts";
import { factLines, headLines, linesOf } from "./find-lines.ts";
import { outlivingLines } from "./find-next-steps.ts";
import type { TextToFind } from "./find-texts.ts";
import { HOLDS_NOTHING, heldBy, judgeSecretId, type NamedSecretId, outliving } from "./held-credentials.ts";
import { judgeOne } from "./one-text.ts";
import { showOrphans } from "./orphans-made.ts";

type Wanted = Extract<GroveCommand, { kind: "contain-text" }>;

/**
 * Identifies a text as `find` does, and ends the credential that it is: a service token with its descendants, a secret-id
 * with the tokens of its logins, a lease alone, or the token of a team or an organization. For any other text it only says
 * what to do. The text itself is sent only in the bodies of `sys/tokens/find` and `sys/audit-hash`. Every other request
 * names the credential by its accessor.
 */
export async function containText(session: Session, wanted: Wanted): Promise<Called<number>> {
  const { terminal, json } = session;
  const given = await judgeOne(session, await terminal.secret("Token or secret-id (it is not shown): "));
  if (!given.ok) return given;
  const { text, judged: found } = given.value;
  if (!("chosen_id" in found)) return leftAlone(session, found);
  if (found.state === "ended") return endedBefore(session, wanted, found);
  const end = isAlive(found) ? endOf(session, wanted, text, found) : null;
  if (end === null) return leftAlone(session, found);
  if (json && !wanted.yes) return failed("nothing was ended: with --json nothing is asked; --yes ends it");
  if (!json) for (const line of [...headLines(terminal, found), ...factLines(terminal, found)]) terminal.out(line);
  return end();
}

/** Selects how a live text is ended; null for a text that this command can't end. */
function endOf(
  session: Session,
  wanted: Wanted,
  text: TextToFind,
  { kind, token, credential }: FoundText,
): (() => Promise<Called<number>>) | null {
  if (kind === "lease") return () => containLease(session, wanted, text);
  if (token) return () => endToken(session, wanted, kind, token);
  if (!credential) return null;
  // By an accessor the server finds no secret-id, whether it is alive or not.
  const isAccessor = kind === "secret-id" && text.candidates.includes(credential.accessor);
  const askAgain = () => (isAccessor ? judgeSecretId(session, credential) : judge(session.client, text));
  const leaked = { credential, askAgain };
  if (kind === "secret-id") return () => containSecretId(session, wanted, leaked);
  const isOfTeam = kind === "team" || kind === "organization";
  return isOfTeam ? () => deleteTeamToken(session, wanted, leaked) : null;
}

/**
 * Revokes a token with its descendants. For a wrapping token it also ends the token or the secret-id inside, although that
 * can no longer be unwrapped. --include-root protects root tokens that a filter matches by chance. It is not needed here,
 * because the text names one token.
 */
async function endToken(session: Session, wanted: Wanted, kind: string, token: Token): Promise<Called<number>> {
  const { terminal, json } = session;
  const { accessor, policies } = token;
  const isRoot = policies.includes("root");
  if (isRoot && !json) terminal.out(styled(terminal, "red", "  it is a root token, to which nothing is forbidden"));
  const inside = kind === "wrapping" ? await heldBy(session, token) : ok(HOLDS_NOTHING);
  const { tokens, secretIds } = inside.ok ? inside.value : HOLDS_NOTHING;
  if (!json) {
    for (const one of tokens) terminal.out(`  holds the token ${one}, which ends with it`);
    for (const one of secretIds)
      terminal.out(`  holds the secret-id ${one.accessor} of ${harmless(one.path)}, which is destroyed next`);
  }
  const includeRoot = wanted.includeRoot || isRoot;
  const ended = await containAccessors(session, [accessor, ...tokens], { ...wanted, includeRoot });
  if (!ended.ok) return ended;
  const destroyed = await containHeld(session, wanted, secretIds);
  if (!destroyed.ok || destroyed.value !== 0) return destroyed;
  if (ended.value !== 0 || inside.ok) return ended;
  return failed(`what it held may be alive: it is not known (${inside.error.message})`);
}

/** Destroys secret-ids by their accessors unless they `hadEnded`, and ends the tokens of their logins. */
async function containHeld(
  session: Session,
  wanted: Wanted,
  secretIds: readonly NamedSecretId[],
  hadEnded = false,
): Promise<Called<number>> {
  for (const credential of secretIds) {
    const askAgain = () => judgeSecretId(session, credential);
    const done = await containSecretId(session, wanted, { credential, askAgain, hadEnded });
    if (!done.ok || done.value !== 0) return done;
  }
  return ok(0);
}

async function showFound(session: Session, found: Judged): Promise<void> {
  const { terminal, json } = session;
  if (json) terminal.out(JSON.stringify(found));
  else {
    const context = "chosen_id" in found ? await contextOf(session.client, found) : null;
    for (const line of linesOf(terminal, found, "", context)) terminal.out(line);
  }
}

/** Shows what is known of a text that this command can't end. */
async function leftAlone(session: Session, found: Judged): Promise<Called<number>> {
  await showFound(session, found);
  return failed("nothing was ended");
}

/**
 * Succeeds for a text that had ended before, so that the command can be repeated. The revocation of a lease whose target
 * has not accepted it is sent again. It fails when something outlives the text: the secret of a lease, a token from a
 * login with a JWT, or the token that was taken from a wrapping token. A secret-id that was taken from one is destroyed,
 * as no other command does it by its accessor, and the tokens of its logins are ended, also those of a secret-id that is
 * used up.
 */
async function endedBefore(session: Session, wanted: Wanted, found: FoundText): Promise<Called<number>> {
  const { terminal, json } = session;
  await showFound(session, found);
  const [lease] = found.unrevoked_leases?.failures ?? [];
  if (found.kind === "lease" && lease) return revokeLease(session, lease.lease_id);
  if (found.unrevoked_leases) return failed("nothing was ended: it had ended before, but a secret can still be used");
  if (found.kind === "jwt")
    return failed("nothing was ended: it had ended before, and tokens of its logins may live on");
  const left = await outliving(session, found);
  if (left?.ok === false) return failed(`it had ended before; what outlives it is not known: ${left.error.message}`);
  const { tokens, secretIds, isBatch } = left?.value ?? HOLDS_NOTHING;
  const [alive] = tokens;
  if (alive)
    return failed(
      `it had ended before, but the token that it held is alive: ${asCalled(`contain --accessor ${alive}`)}`,
    );
  if (isBatch)
    return failed(
      `it had ended before, but the batch token that it held may be alive, and can't be ended alone (${helpAsCalled("docs/leases.md")}, What ends at once)`,
    );
  if (secretIds.length > 0) {
    if (json && !wanted.yes) return failed("it had ended before, but not all that it gave: --yes ends that");
    for (const line of json ? [] : outlivingLines(found, left)) terminal.out(line);
    return containHeld(session, wanted, secretIds, found.kind === "secret-id");
  }
  if (!json) terminal.out(styled(terminal, "green", "It had ended before."));
  return ok(found.kind === "service" && found.token ? await showOrphans(session, [found.token.accessor]) : 0);
}
