import { currentTime, type Ms } from "../../../base/clock.ts";
import { err, ok, type Result, refuse } from "../../../base/result.ts";
import { randomText } from "../../../crypto/base62.ts";
import type { Reply } from "../../../wire/reply.ts";
import type { OidcAttempt } from "./browser-checks.ts";
import { EXPIRED, loginOf, noteRole, type ProviderAnswer } from "./callback.ts";
import { confirmationPage, textPage } from "./html-pages.ts";
import { type Confirmed, changeLogin, type DirectLogin, isConfirmed, type OpenedLogin } from "./pending-login-state.ts";
import { browserRole, conditionsOf, knownProvider, LOGIN_FAILED } from "./provider-and-role.ts";
import { isRefusal, keepCode } from "./stored-code.ts";
import { redeemCode } from "./verify-tokens.ts";

/** Letters that are not mistaken for one another, and that make no words (RFC 8628, section 6.1). */
const LETTERS = "BCDFGHJKLMNPQRSTVWXZ";
const CODE_LETTERS = 8;
const MAX_WRONG_CODES = 5;

/** A new code for a person to copy: two groups of four letters. */
export function newUserCode(): string {
  const code = randomText(LETTERS, CODE_LETTERS);
  return `${code.slice(0, CODE_LETTERS / 2)}-${code.slice(CODE_LETTERS / 2)}`;
}

/** True when a person has typed this code, in any case and with or without the dash. */
function isUserCode(typed: string, code: string): boolean {
  return typed.toUpperCase().replace(/[\s-]/g, "") === code.replace("-", "");
}

/**
 * Keeps the code of an answer that came to this server, and returns the page that asks the person to confirm. The page
 * has a secret: only who came back from the provider with this code can confirm it. A refusal of the provider ends the
 * login, and is kept for the client.
 */
export async function askPerson(
  attempt: OidcAttempt,
  login: OpenedLogin<DirectLogin>,
  answer: ProviderAnswer,
): Promise<Result<Reply>> {
  const { checks } = attempt;
  const { pending } = login;
  noteRole(attempt, login);
  if (pending.progress !== "asking") return checks.record("oidc_state", {}, refuse(EXPIRED));
  const now = currentTime();
  const confirmation = await keepCode(attempt, login, answer, now);
  if (confirmation.ok) return ok(pageFor(login, confirmation.value, false));
  if (isRefusal(checks.failed)) {
    const refusal = "message" in confirmation.error ? confirmation.error.message : LOGIN_FAILED;
    await changeLogin(attempt, login, { ...withoutSecrets(pending), progress: { refusal } }, now);
  }
  return confirmation;
}

function pageFor({ key, roleName, pending }: OpenedLogin<DirectLogin>, confirmation: string, isRetry: boolean): Reply {
  const address = pending.clientAddress ?? "that is not known";
  return confirmationPage({ state: key.state, confirmation, role: roleName, address }, isRetry);
}

interface Confirmation {
  readonly state: string;
  readonly confirmation: string;
  readonly userCode: string;
}

/** Goes on with a login that a person has confirmed, and keeps the result for the client. Returns a page. */
export async function confirmLogin(attempt: OidcAttempt, sent: Confirmation): Promise<Result<Reply>> {
  const { checks } = attempt;
  const now = currentTime();
  const found = await loginOf(attempt, "find", { state: sent.state, clientNonce: null }, now);
  if (!found.ok) return found;
  const { pending } = found.value;
  const isAsking = pending.kind === "direct" && pending.progress === "asking";
  if (!isAsking || pending.code === undefined || !isConfirmed(pending, sent.confirmation)) {
    return checks.record("oidc_state", {}, refuse(EXPIRED));
  }
  const login = { ...found.value, pending };
  if (!isUserCode(sent.userCode, pending.userCode)) return refuseCode(attempt, login, sent.confirmation, now);
  // From here on no other request can continue it.
  const confirmed: DirectLogin = { ...withoutSecrets(pending), progress: "confirmed" };
  const row = await changeLogin(attempt, login, confirmed, now);
  if (!row) return checks.record("oidc_state", {}, refuse(EXPIRED));
  const result = await resultOf(attempt, login, pending.code, now);
  const why = checks.failed ? `This check did not pass: ${checks.failed.description}` : "The sign-in can't go on now.";
  const progress = result.ok ? result.value : { refusal: `${LOGIN_FAILED} ${why}` };
  await changeLogin(attempt, { row }, { ...confirmed, progress }, now);
  return result.ok ? ok(textPage(200, "Signed in", "You can close this page: the program goes on.")) : result;
}

/** Finds out who has confirmed. What the client gets is decided when it asks for the result. */
async function resultOf(
  attempt: OidcAttempt,
  login: OpenedLogin<DirectLogin>,
  code: string,
  now: Ms,
): Promise<Result<Confirmed>> {
  const known = await knownProvider(attempt, login.config, login.pending.revision);
  if (!known.ok) return known;
  const role = browserRole(attempt, login);
  if (!role.ok) return role;
  const holder = await redeemCode(attempt, known.value, role.value, login.pending, code, now);
  return holder.ok ? ok({ holder: holder.value, conditions: conditionsOf(role.value) }) : holder;
}

/** Counts a wrong code. Of concurrent wrong codes only one is counted, and the others are refused. */
async function refuseCode(
  attempt: OidcAttempt,
  login: OpenedLogin<DirectLogin>,
  confirmation: string,
  now: Ms,
): Promise<Result<Reply>> {
  const wrongCodes = login.pending.wrongCodes + 1;
  if (wrongCodes >= MAX_WRONG_CODES) {
    const ended = await loginOf(attempt, "take", login.key, now);
    return ended.ok ? err({ code: "forbidden", message: "too many wrong codes: begin again" }) : ended;
  }
  const counted = await changeLogin(attempt, login, { ...login.pending, wrongCodes }, now);
  return counted ? ok(pageFor(login, confirmation, true)) : attempt.checks.record("oidc_state", {}, refuse(EXPIRED));
}

function withoutSecrets({ code: _, confirmation: __, ...pending }: DirectLogin): DirectLogin {
  return { ...pending, nonce: "", verifier: "" };
}
