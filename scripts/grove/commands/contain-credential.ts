import * as z from "zod";
import { ok } from "../../../src/base/result.ts";
import { asCalled } from "../../local/command-line.ts";
import { encodedPath } from "../../local/encoded-path.ts";
import type { FoundText } from "../answer-schemas.ts";
import type { GroveCommand } from "../arguments.ts";
import { type Called, failed } from "../client.ts";
import { harmless, type Session, styled } from "../terminal.ts";
import { containAccessors } from "./contain.ts";
import { checkEnded, unprovenOf } from "./ended-check.ts";
import { isAlive, type Judged } from "./find-judgements.ts";
import { isConfirmed } from "./revoke.ts";
import { tokensOfLogins } from "./secret-id-logins.ts";
import { number } from "./token-lines.ts";

type Wanted = Extract<GroveCommand, { kind: "contain-text" }>;
type Credential = Pick<NonNullable<FoundText["credential"]>, "accessor" | "path">;

/** A leaked credential that is in no tree of tokens. */
interface Leaked {
  readonly credential: Credential;
  /** Asks the server what it is now. */
  readonly askAgain: () => Promise<Called<Judged>>;
  /** True for a secret-id that no login takes any more: only the tokens of its logins are left to end. */
  readonly hadEnded?: boolean;
}

/** Deletes the token of a team or an organization. The accessor of such a token is its id. */
export async function deleteTeamToken(session: Session, { yes }: Wanted, leaked: Leaked): Promise<Called<number>> {
  if (!yes && !(await isConfirmed(session.terminal, "Type delete to delete it: ", "delete")))
    return failed("nothing was ended");
  const id = encodeURIComponent(leaked.credential.accessor);
  const deleted = await session.client.call("DELETE", `/api/v2/authentication-tokens/${id}`);
  if (!deleted.ok && deleted.error.status !== 404) return deleted;
  const refused = await proveRefused(session, leaked, "deleted");
  // The answer is a 404 for a token that has ended, and for one that the caller may not manage.
  return deleted.ok || refused.ok ? refused : failed("it is not deleted: VAULT_TOKEN may not manage its organization");
}

/** Destroys a secret-id that is alive, so that no login makes a further token, and ends the tokens of its logins. */
export async function containSecretId(session: Session, wanted: Wanted, leaked: Leaked): Promise<Called<number>> {
  const { client, terminal, json } = session;
  const { accessor, path } = leaked.credential;
  const hadEnded = leaked.hadEnded === true;
  if (!json) terminal.out(await tokensLine(session, leaked.credential));
  const [word, what] = hadEnded ? ["end", "end them"] : ["destroy", "destroy it"];
  if (!wanted.yes && !(await isConfirmed(terminal, `Type ${word} to ${what}: `, word)))
    return failed(hadEnded ? "the tokens of its logins were not ended" : "the secret-id was not destroyed");
  if (!hadEnded) {
    const destroy = `${path}/secret-id-accessor/destroy`;
    const destroyed = await client.call("POST", encodedPath(destroy), { secret_id_accessor: accessor });
    if (!destroyed.ok && destroyed.error.status === 403) return failed(`VAULT_TOKEN needs update on ${destroy}`);
    if (!destroyed.ok && destroyed.error.status !== 404) return destroyed;
  }
  const refused = await proveRefused(session, leaked, hadEnded ? "ended before" : "destroyed");
  // Read again: a login may have made a token before the destruction.
  const made = await tokensOfLogins(session, accessor);
  if (!made.ok) return failed(`which tokens its logins made is not known (${made.error.message}); ${byRole(path)}`);
  const { accessors, unnamed } = made.value;
  const left = await unprovenTokens(session, accessors);
  if (!left.ok) return left;
  if (left.value.length > 0) {
    const ended = await containAccessors(session, left.value, wanted);
    if (!ended.ok || ended.value !== 0) return ended;
  }
  return unnamed === 0 ? refused : failed(`${number(unnamed, "token")} of its logins may be alive; ${byRole(path)}`);
}

/** Asks the server again, to prove that it is no longer accepted. */
async function proveRefused({ terminal, json }: Session, { askAgain }: Leaked, done: string) {
  const after = await askAgain();
  if (!after.ok) return after;
  const { state, message } = after.value;
  if (isAlive(after.value) || state === "unjudged") return failed(`it is not proved to be ${done}: ${message}`);
  if (json) terminal.out(JSON.stringify({ done, after: after.value }));
  // A secret-id leaves no record: of one that is gone the server knows nothing.
  else terminal.out(styled(terminal, "green", `${done}: asked again, it is ${state === "unknown" ? "gone" : state}`));
  return ok(0);
}

const ROLE = z.object({ token_ends_with_secret_id: z.boolean() });

/** Says how many tokens the logins with a secret-id made, and whether they end with it. */
async function tokensLine(session: Session, { accessor, path }: Credential): Promise<string> {
  const made = await tokensOfLogins(session, accessor);
  if (!made.ok) return `  its tokens are not known: ${made.error.message}`;
  const count = made.value.accessors.length + made.value.unnamed;
  const what = `  its logins made ${number(count, "token")}`;
  if (count === 0) return what;
  const role = await session.client.get(encodedPath(path), ROLE);
  if (!role.ok) return what;
  const isOne = count === 1;
  return role.value.token_ends_with_secret_id
    ? `${what}, which ${isOne ? "ends" : "end"} with it, with all below`
    : `${what}, which ${isOne ? "does" : "do"} not end with it`;
}

/** Asks the trees about tokens, shows how many are refused, and returns those that are not proved to be. */
async function unprovenTokens(session: Session, accessors: readonly string[]): Promise<Called<string[]>> {
  if (accessors.length === 0) return ok([]);
  const { client, terminal, json } = session;
  const checked = await checkEnded(client, { accessors });
  if (!checked.ok) return checked;
  const { ended } = checked.value;
  const left = unprovenOf(checked.value);
  const all = `${number(accessors.length, "token")} of its logins`;
  const count = ended === 0 ? `none of the ${all} has ended yet` : `${ended} of ${all} refused`;
  const next = left.length === 0 ? "" : `; ${left.length === 1 ? "that one is" : "those are"} ended next`;
  if (!json) terminal.out(styled(terminal, left.length === 0 ? "green" : "yellow", `${count}${next}`));
  return ok(left);
}

/** The command that ends the tokens of a role whose accessors are not known. */
function byRole(path: string): string {
  const [mount = "", role = ""] = harmless(path).split("/role/");
  return `${asCalled(`contain --mount ${mount}/ --role ${role}`)} ends those of all its secret-ids`;
}
