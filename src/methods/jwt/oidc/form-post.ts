import { currentTime } from "../../../base/clock.ts";
import { ok, type Result, refuse } from "../../../base/result.ts";
import type { Reply } from "../../../wire/reply.ts";
import type { OidcAttempt } from "./browser-checks.ts";
import { EXPIRED, noteRole, type ProviderAnswer } from "./callback.ts";
import { askPerson } from "./direct-callback.ts";
import { textPage } from "./html-pages.ts";
import { type CodeLogin, isConfirmed, type OpenedLogin, openLogin } from "./pending-login-state.ts";
import { codeOf, isRefusal, keepCode } from "./stored-code.ts";

/**
 * True for an answer that the provider has posted (`form_post`), and for one that a command passes on as it came. False
 * for that of the page that a browser was sent back to.
 */
export function isPosted({ config, pending }: OpenedLogin, { code }: Pick<ProviderAnswer, "code">): boolean {
  return config?.responseMode === "form_post" && !(pending.kind === "code" && isConfirmed(pending, code));
}

/** Takes an answer that the provider has posted to where the login goes on: a page of this server, or the client. */
export async function takePosted(
  attempt: OidcAttempt,
  login: OpenedLogin,
  answer: ProviderAnswer,
): Promise<Result<Reply>> {
  const { pending } = login;
  noteRole(attempt, login);
  if (pending.kind === "direct") return askPerson(attempt, { ...login, pending }, answer);
  if (pending.kind !== "code") return attempt.checks.record("oidc_state", {}, refuse(EXPIRED));
  const { returnTo } = pending;
  return returnTo === undefined
    ? passedOn(attempt, { ...login, pending }, answer)
    : sendBack(attempt, { ...login, pending }, answer, returnTo);
}

/** The command has the code and asks for the token with it, so nothing is kept. */
async function passedOn(
  attempt: OidcAttempt,
  login: OpenedLogin<CodeLogin>,
  answer: ProviderAnswer,
): Promise<Result<Reply>> {
  const code = await codeOf(attempt, login, answer);
  return code.ok ? ok(textPage(200, "Signed in", "The program that you started goes on.")) : code;
}

/**
 * Keeps the code, and sends the browser back to the page that began, with a secret in the place of the code. A refusal
 * of the provider ends the login.
 */
async function sendBack(
  attempt: OidcAttempt,
  login: OpenedLogin<CodeLogin>,
  answer: ProviderAnswer,
  returnTo: string,
): Promise<Result<Reply>> {
  const now = currentTime();
  const confirmation = await keepCode(attempt, login, answer, now);
  if (!confirmation.ok) {
    if (isRefusal(attempt.checks.failed)) await openLogin(attempt, "take", login.key, now);
    return confirmation;
  }
  const url = new URL(returnTo);
  url.searchParams.set("state", answer.state);
  url.searchParams.set("code", confirmation.value);
  const headers = { Location: url.href, "Referrer-Policy": "no-referrer" };
  return ok({ kind: "text", status: 303, mediaType: "text/plain", text: "", headers });
}
