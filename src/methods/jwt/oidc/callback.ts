import type { VerifiedClient } from "../../../auth/login-attempt.ts";
import { bindAddress } from "../../../auth/token-settings.ts";
import { currentTime, type Ms } from "../../../base/clock.ts";
import { ok, type Result, refuse } from "../../../base/result.ts";
import { clientByClaims, shown } from "../claim-checks.ts";
import type { OidcAttempt } from "./browser-checks.ts";
import { type CodeLogin, isConfirmed, type LoginKey, type OpenedLogin, openLogin } from "./pending-login-state.ts";
import { browserRole, knownProvider, LOGIN_FAILED } from "./provider-and-role.ts";
import type { Provider } from "./provider-discovery.ts";
import { isLoopback } from "./redirect-uris.ts";
import { redeemCode } from "./verify-tokens.ts";

/** The answer of the provider, as the client or a browser brings it. "" for what is not there. */
export interface ProviderAnswer {
  readonly state: string;
  readonly code: string;
  readonly error: string;
  /** The issuer (RFC 9207). */
  readonly iss: string;
}

/** The reference sends this in place of a code that it keeps. Anybody can send it too, so it is refused here. */
const NO_CODE = "no_code";
/** Longer than what any provider sends. */
const MAX_CODE = 8192;

/** Errors of RFC 6749 and OpenID Connect Core that may be named in answers: anybody could put any text there. */
const ERRORS: ReadonlySet<string> = new Set([
  ...["invalid_request", "unauthorized_client", "access_denied", "unsupported_response_type", "invalid_scope"],
  ...["server_error", "temporarily_unavailable", "interaction_required", "login_required"],
  ...["account_selection_required", "consent_required"],
]);

/** The refusal of a login that was not begun here, has ended, or went on elsewhere. */
export const EXPIRED = `${LOGIN_FAILED} Expired or missing OAuth state.`;

const NOT_RECEIVED = `${LOGIN_FAILED} No code or id_token received.`;

/** Finds or takes the login of an answer. */
export async function loginOf(
  attempt: OidcAttempt,
  way: "find" | "take",
  key: LoginKey,
  now: Ms,
): Promise<Result<OpenedLogin>> {
  const { checks } = attempt;
  const found = await openLogin(attempt, way, key, now);
  if (found === "other client") return checks.record("oidc_client_nonce", {}, refuse("invalid client_nonce"));
  if (found) noteRole(attempt, found);
  return checks.record("oidc_state", {}, found ? ok(found) : refuse(EXPIRED));
}

/** Notes the role of a login that was found, so that a refusal names it. */
export function noteRole({ notes }: OidcAttempt, { roleName, role }: Pick<OpenedLogin, "roleName" | "role">): void {
  notes.role = roleName;
  if (role) notes.roleExists = true;
}

/** Makes the checks of a login whose client brings the answer of the provider. It ends, whatever they say. */
export async function verifyAnswer(
  attempt: OidcAttempt,
  answer: ProviderAnswer,
  clientNonce: string,
): Promise<Result<VerifiedClient>> {
  const { checks } = attempt;
  const now = currentTime();
  const login = await loginOf(attempt, "take", { state: answer.state, clientNonce }, now);
  if (!login.ok) return login;
  const { pending } = login.value;
  if (pending.kind !== "code") return checks.record("oidc_state", {}, refuse(EXPIRED));
  return verifyCode(attempt, { ...login.value, pending }, answer, now);
}

/** Makes the checks of a login by an authorization code that was taken. */
async function verifyCode(
  attempt: OidcAttempt,
  login: OpenedLogin<CodeLogin>,
  answer: ProviderAnswer,
  now: Ms,
): Promise<Result<VerifiedClient>> {
  const { pending } = login;
  const known = await knownProvider(attempt, login.config, pending.revision);
  if (!known.ok) return known;
  const role = browserRole(attempt, login);
  if (!role.ok) return role;
  const admitted = await attempt.admitRole(login.roleName);
  if (!admitted.ok) return admitted;
  const boundCidrs = boundAddress(attempt, role.value.token);
  if (!boundCidrs.ok) return boundCidrs;
  const code = attempt.checks.record("oidc_answer", {}, codeFor(known.value.provider, pending, answer));
  if (!code.ok) return code;
  const holder = await redeemCode(attempt, known.value, role.value, pending, code.value, now);
  return holder.ok
    ? ok(clientByClaims(login.roleName, role.value.token, boundCidrs.value, holder.value.identity))
    : holder;
}

/** Returns the code of an answer that the client brings; a kept code only for the secret of the browser that got it. */
function codeFor(provider: Provider, pending: CodeLogin, answer: ProviderAnswer): Result<string> {
  if (pending.code === undefined) return codeIn(provider, pending, answer);
  return isConfirmed(pending, answer.code) ? ok(pending.code) : refuse(NOT_RECEIVED);
}

/** Checks the address of the client of a login. */
export function boundAddress(
  { checks, clientAddress }: OidcAttempt,
  token: Parameters<typeof bindAddress>[0],
): Result<readonly string[]> {
  const compared = { bound: token.boundCidrs, actual: shown(clientAddress) };
  return checks.record("address", compared, bindAddress(token, clientAddress));
}

/**
 * Returns the code in an answer of the provider. Refuses an answer of another issuer, and one without an issuer if the
 * provider always names it (RFC 9207). But programs that listen on the client's own machine pass on the code alone.
 */
export function codeIn(
  { issuer, namesIssuer }: Pick<Provider, "issuer" | "namesIssuer">,
  { redirectUri }: Pick<CodeLogin, "redirectUri">,
  { code, error, iss }: ProviderAnswer,
): Result<string> {
  const isMissing = iss === "" && namesIssuer && !isLoopback(redirectUri);
  if (isMissing || (iss !== "" && iss !== issuer)) {
    return refuse(`${LOGIN_FAILED} The answer does not name the issuer that was asked (iss).`);
  }
  if (error !== "") return refuse(`${LOGIN_FAILED} ${errorName(error)}`);
  if (code === "" || code === NO_CODE || code.length > MAX_CODE) {
    return refuse(NOT_RECEIVED);
  }
  return ok(code);
}

/** The name of an error of the provider. Any other text of it is dropped. */
function errorName(error: string): string {
  return ERRORS.has(error) ? error : "The provider reported an error.";
}
