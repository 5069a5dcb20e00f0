import type { Ms } from "../../../base/clock.ts";
import { ok, type Result, refuse } from "../../../base/result.ts";
import type { OidcAttempt } from "./browser-checks.ts";
import { codeIn, EXPIRED, type ProviderAnswer } from "./callback.ts";
import { type CodeLogin, changeLogin, type DirectLogin, newSecret, type OpenedLogin } from "./pending-login-state.ts";
import { knownProvider } from "./provider-and-role.ts";

/**
 * Keeps the code of an answer that came to this server. Returns a new secret for the browser that came with it. Without
 * the secret the code is not used: an attacker who began the login and sent the link to a victim would get their token.
 */
export async function keepCode(
  attempt: OidcAttempt,
  login: OpenedLogin<DirectLogin | CodeLogin>,
  answer: ProviderAnswer,
  now: Ms,
): Promise<Result<string>> {
  const code = await codeOf(attempt, login, answer);
  if (!code.ok) return code;
  const confirmation = newSecret();
  const kept = await changeLogin(attempt, login, { ...login.pending, code: code.value, confirmation }, now);
  return kept ? ok(confirmation) : attempt.checks.record("oidc_state", {}, refuse(EXPIRED));
}

/** True when the answer of the provider was refused: it ends the login. Not when the provider can't be asked now. */
export function isRefusal(failed: OidcAttempt["checks"]["failed"]): boolean {
  return failed?.name === "oidc_answer";
}

/** Returns the code of an answer that came to this server. */
export async function codeOf(
  attempt: OidcAttempt,
  { config, pending }: OpenedLogin<DirectLogin | CodeLogin>,
  answer: ProviderAnswer,
): Promise<Result<string>> {
  const known = await knownProvider(attempt, config, pending.revision);
  if (!known.ok) return known;
  return attempt.checks.record("oidc_answer", {}, codeIn(known.value.provider, pending, answer));
}
