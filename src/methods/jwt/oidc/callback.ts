import type { VerifiedClient } from "../../../auth/login-attempt.ts";
import { bindAddress } from "../../../auth/token-settings.ts";
import { currentTime, type Ms } from "../../../base/clock.ts";
import { ok, type Result, refuse } from "../../../base/result.ts";
import { shown } from "../claim-checks.ts";
import type { OidcAttempt } from "./checks.ts";
import { type CodeLogin, type OpenedLogin, openLogin } from "./pending.ts";
import type { Provider } from "./provider.ts";
import { isLoopback } from "./redirects.ts";
import { browserRole, exchangeGrant, knownProvider, LOGIN_FAILED, verifyTokens } from "./verify.ts";

/** The answer of the provider, as the client or a browser brings it. "" for what is not there. */
export interface ProviderAnswer {
  readonly state: string;
  readonly code: string;
  readonly error: string;
  /** The issuer (RFC 9207). */
  readonly iss: string;
}

/** In the place of a code that the provider has posted to this server. */
export const STORED_CODE = "no_code";

/** Longer than what any provider sends. */
const MAX_STATE = 512;
const MAX_CODE = 8192;

/** Errors of RFC 6749 and OpenID Connect Core that may be named in answers: anybody could put any text there. */
const ERRORS: ReadonlySet<string> = new Set([
  ...["invalid_request", "unauthorized_client", "access_denied", "unsupported_response_type", "invalid_scope"],
  ...["server_error", "temporarily_unavailable", "interaction_required", "login_required"],
  ...["account_selection_required", "consent_required"],
]);

/** The refusal of a login that was not begun here, has ended, or went on elsewhere. */
export const EXPIRED = `${LOGIN_FAILED} Expired or missing OAuth state.`;

/** Finds or takes the login of an answer for its client. @param clientNonce null: whoever brings the answer. */
export async function loginOf(
  attempt: OidcAttempt,
  way: "find" | "take",
  state: string,
  clientNonce: string | null,
  now: Ms,
): Promise<Result<OpenedLogin>> {
  const { checks } = attempt;
  const found =
    state === "" || state.length > MAX_STATE ? null : await openLogin(attempt, way, { state, clientNonce }, now);
  if (found === "other client") return checks.record("oidc_client_nonce", {}, refuse("invalid client_nonce"));
  return checks.record("oidc_state", {}, found ? ok(found) : refuse(EXPIRED));
}

/** Makes the checks of a login whose client brings the answer of the provider. It ends, whatever they say. */
export async function verifyAnswer(
  attempt: OidcAttempt,
  answer: ProviderAnswer,
  clientNonce: string,
): Promise<Result<VerifiedClient>> {
  const { checks } = attempt;
  const now = currentTime();
  const login = await loginOf(attempt, "take", answer.state, clientNonce, now);
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
  const known = await knownProvider(attempt, login.config, pending.revision, now);
  if (!known.ok) return known;
  const role = browserRole(attempt, login);
  if (!role.ok) return role;
  const admitted = await attempt.admitRole(login.roleName);
  if (!admitted.ok) return admitted;
  const boundCidrs = boundAddress(attempt, role.value.token);
  if (!boundCidrs.ok) return boundCidrs;
  const isStored = answer.code === STORED_CODE && pending.code !== undefined;
  const code = isStored ? ok(pending.code) : codeIn(known.value.provider, pending, answer);
  const checked = attempt.checks.record("oidc_answer", {}, code);
  if (!checked.ok) return checked;
  const { redirectUri, verifier, nonce } = pending;
  const grant = {
    grant_type: "authorization_code",
    code: checked.value,
    redirect_uri: redirectUri,
    code_verifier: verifier,
  };
  const tokens = await exchangeGrant(attempt, known.value, grant);
  if (!tokens.ok) return tokens;
  const expected = { roleName: login.roleName, role: role.value, boundCidrs: boundCidrs.value, nonce };
  return verifyTokens(attempt, known.value, tokens.value, expected, now);
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
 * Returns the code in an answer of the provider. One of another issuer is refused, and one that names none where the
 * provider always does (RFC 9207). Programs that listen on the client's own machine pass on the code alone.
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
  if (code === "" || code === STORED_CODE || code.length > MAX_CODE) {
    return refuse(`${LOGIN_FAILED} No code or id_token received.`);
  }
  return ok(code);
}

/** The name of an error of the provider. Any other text of it is dropped. */
function errorName(error: string): string {
  return ERRORS.has(error) ? error : "The provider reported an error.";
}
