import { currentTime, type Ms } from "../../../base/clock.ts";
import { err, ok, type Result, refuse } from "../../../base/result.ts";
import { equalBytes, randomBytes } from "../../../crypto/bytes.ts";
import type { Reply } from "../../../wire/reply.ts";
import { codeIn, EXPIRED, loginOf, type ProviderAnswer } from "./callback.ts";
import type { OidcAttempt } from "./checks.ts";
import { confirmationPage, textPage } from "./pages.ts";
import { type CodeLogin, changeLogin, type DirectLogin, newSecret, type OpenedLogin } from "./pending.ts";
import { browserRole, exchangeGrant, knownProvider, verifyTokens } from "./verify.ts";

/** Letters that nobody mistakes for another, and that make no words (RFC 8628, section 6.1). */
const LETTERS = "BCDFGHJKLMNPQRSTVWXZ";
const CODE_LETTERS = 8;
const MAX_WRONG_CODES = 5;

/** A new code for a person to copy: two groups of four letters. */
export function newUserCode(): string {
  const fair = 256 - (256 % LETTERS.length);
  let code = "";
  while (code.length < CODE_LETTERS) {
    for (const byte of randomBytes(CODE_LETTERS)) {
      if (byte < fair && code.length < CODE_LETTERS) code += LETTERS[byte % LETTERS.length];
    }
  }
  return `${code.slice(0, CODE_LETTERS / 2)}-${code.slice(CODE_LETTERS / 2)}`;
}

/** True when a person has typed this code, in any case and with or without the dash. */
function isUserCode(typed: string, code: string): boolean {
  return typed.toUpperCase().replace(/[\s-]/g, "") === code.replace("-", "");
}

/**
 * Keeps the code of an answer that came to this server, and returns the page that asks the person to confirm. The page
 * has a secret: only who came back from the provider with this code can confirm it.
 */
export async function askPerson(
  attempt: OidcAttempt,
  login: OpenedLogin<DirectLogin>,
  answer: ProviderAnswer,
): Promise<Result<Reply>> {
  const now = currentTime();
  const { pending } = login;
  const code = await codeOf(attempt, login, answer, now);
  if (!code.ok) return code;
  if (pending.progress !== "asking") return attempt.checks.record("oidc_state", {}, refuse(EXPIRED));
  const confirmation = newSecret();
  const kept = await changeLogin(attempt, login, { ...pending, code: code.value, confirmation }, now);
  if (!kept) return attempt.checks.record("oidc_state", {}, refuse(EXPIRED));
  return ok(pageFor(login, answer.state, confirmation, false));
}

/** Returns the code of an answer that came to this server, for a login of any kind that has one. */
export async function codeOf(
  attempt: OidcAttempt,
  { config, pending }: OpenedLogin<DirectLogin | CodeLogin>,
  answer: ProviderAnswer,
  now: Ms,
): Promise<Result<string>> {
  const known = await knownProvider(attempt, config, pending.revision, now);
  if (!known.ok) return known;
  return attempt.checks.record("oidc_answer", {}, codeIn(known.value.provider, pending, answer));
}

function pageFor(
  { roleName, pending }: OpenedLogin<DirectLogin>,
  state: string,
  confirmation: string,
  isRetry: boolean,
) {
  const address = pending.clientAddress ?? "that is not known";
  return confirmationPage({ state, confirmation, role: roleName, address }, isRetry);
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
  const found = await loginOf(attempt, "find", sent.state, null, now);
  if (!found.ok) return found;
  const { pending } = found.value;
  const isAsking = pending.kind === "direct" && pending.progress === "asking";
  if (!isAsking || pending.code === undefined || !isSame(sent.confirmation, pending.confirmation ?? "")) {
    return checks.record("oidc_state", {}, refuse(EXPIRED));
  }
  const login = { ...found.value, pending };
  if (!isUserCode(sent.userCode, pending.userCode)) return refuseCode(attempt, login, sent, now);
  // From here on nobody else can go on with it.
  const confirmed: DirectLogin = { ...withoutSecrets(pending), progress: "confirmed" };
  const row = await changeLogin(attempt, login, confirmed, now);
  if (!row) return checks.record("oidc_state", {}, refuse(EXPIRED));
  const verified = await verifyConfirmed(attempt, login, pending.code, now);
  const refusal = checks.failed?.description ?? "The sign-in can't go on now.";
  const progress = verified.ok ? { client: verified.value } : { refusal };
  await changeLogin(attempt, { row }, { ...confirmed, progress }, now);
  return verified.ok ? ok(textPage(200, "Signed in", "You can close this page: the program goes on.")) : verified;
}

async function verifyConfirmed(attempt: OidcAttempt, login: OpenedLogin<DirectLogin>, code: string, now: Ms) {
  const { pending } = login;
  const known = await knownProvider(attempt, login.config, pending.revision, now);
  if (!known.ok) return known;
  const role = browserRole(attempt, login);
  if (!role.ok) return role;
  const { redirectUri, verifier, nonce } = pending;
  const grant = { grant_type: "authorization_code", code, redirect_uri: redirectUri, code_verifier: verifier };
  const tokens = await exchangeGrant(attempt, known.value, grant);
  if (!tokens.ok) return tokens;
  // The networks are those of the client, which asks for the result.
  const expected = { roleName: login.roleName, role: role.value, boundCidrs: [], nonce };
  return verifyTokens(attempt, known.value, tokens.value, expected, now);
}

async function refuseCode(
  attempt: OidcAttempt,
  login: OpenedLogin<DirectLogin>,
  { state, confirmation }: Confirmation,
  now: Ms,
): Promise<Result<Reply>> {
  const wrongCodes = login.pending.wrongCodes + 1;
  if (wrongCodes >= MAX_WRONG_CODES) {
    await loginOf(attempt, "take", state, null, now);
    return err({ code: "forbidden", message: "too many wrong codes: begin again" });
  }
  await changeLogin(attempt, login, { ...login.pending, wrongCodes }, now);
  return ok(pageFor(login, state, confirmation, true));
}

function withoutSecrets({ code: _, confirmation: __, ...pending }: DirectLogin): DirectLogin {
  return { ...pending, nonce: "", verifier: "" };
}

const UTF_8 = new TextEncoder();

function isSame(a: string, b: string): boolean {
  return b !== "" && equalBytes(UTF_8.encode(a), UTF_8.encode(b));
}
