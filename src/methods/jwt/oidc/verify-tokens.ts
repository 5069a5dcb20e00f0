import type { Ms } from "../../../base/clock.ts";
import { serviceUnavailable } from "../../../base/outbound-http.ts";
import { err, ok, type Result, refuse } from "../../../base/result.ts";
import type { Claims } from "../../jws.ts";
import { checkClaims, shown } from "../claim-checks.ts";
import { claimAt } from "../claims.ts";
import type { JwtRole } from "../role.ts";
import { verifySignedToken } from "../signed-token.ts";
import type { OidcAttempt } from "./browser-checks.ts";
import { exchange, fetchUserinfo, type IssuedTokens, refusalText } from "./code-exchange.ts";
import { withGraphGroups } from "./graph-groups.ts";
import { accessTokenProblem, ageProblem, nonceProblem } from "./id-token.ts";
import type { CodeLogin, Holder } from "./pending-login-state.ts";
import { type BrowserRole, type KnownProvider, LOGIN_FAILED } from "./provider-and-role.ts";

/** Exchanges a grant for tokens. A provider that waits for a person is no failed check. */
export async function exchangeGrant(
  { checks }: OidcAttempt,
  { provider, client, listed }: KnownProvider,
  grant: Readonly<Record<string, string>>,
): Promise<Result<IssuedTokens>> {
  const tokens = await exchange(provider, client, grant, listed);
  if (tokens.ok) return checks.record("oidc_exchange", {}, tokens);
  const { error } = tokens;
  if (error.kind === "refused" && WAITING.has(error.code)) return err({ code: "pending", message: error.code });
  const failed: Result<never> =
    error.kind === "refused"
      ? refuse(`${LOGIN_FAILED} Error exchanging oidc code: ${refusalText(error.code)}`)
      : err(serviceUnavailable(`the token endpoint of the provider: ${error.message}`));
  return checks.record("oidc_exchange", {}, failed);
}

/** The provider waits for the person (RFC 8628, section 3.5). */
const WAITING: ReadonlySet<string> = new Set(["authorization_pending", "slow_down"]);

/** Exchanges the code of a login for tokens, and makes the checks of these. */
export async function redeemCode(
  attempt: OidcAttempt,
  known: KnownProvider,
  role: BrowserRole,
  { redirectUri, verifier, nonce }: Pick<CodeLogin, "redirectUri" | "verifier" | "nonce">,
  code: string,
  now: Ms,
): Promise<Result<Holder>> {
  const grant = { grant_type: "authorization_code", code, redirect_uri: redirectUri, code_verifier: verifier };
  const tokens = await exchangeGrant(attempt, known, grant);
  return tokens.ok ? verifyTokens(attempt, known, tokens.value, { role, nonce }, now) : tokens;
}

/** The login that tokens are for. `nonce` null: a login on any device, which has none. */
interface Expected {
  readonly role: BrowserRole;
  readonly nonce: string | null;
}

/** Makes the checks of the tokens that the provider gave, up to those of the entity and the token. */
export async function verifyTokens(
  attempt: OidcAttempt,
  known: KnownProvider,
  tokens: IssuedTokens,
  { role, nonce }: Expected,
  now: Ms,
): Promise<Result<Holder>> {
  const { checks, notes } = attempt;
  const verified = await verifySignedToken(attempt, known.config, tokens.idToken, now);
  if (!verified.ok) return verified;
  const { claims, algorithm } = verified.value;
  const subject = typeof claims.sub === "string" ? claims.sub : null;
  if (subject !== null) notes.principal = subject;
  const { issuer } = known.provider;
  const wrongIssuer = claims.iss === issuer ? null : "invalid issuer (iss) claim";
  const isSame = orInvalid(wrongIssuer);
  const problems = [
    checks.record("oidc_issuer", { bound: [issuer], actual: shown(claims.iss) }, isSame),
    nonce === null ? ok(null) : checks.record("oidc_nonce", {}, orInvalid(nonceProblem(claims, nonce))),
    checks.record("oidc_access_token", {}, orInvalid(accessTokenProblem(claims, tokens.accessToken, algorithm))),
    checks.record(
      "oidc_age",
      { actual: shown(claims.auth_time) },
      orInvalid(ageProblem(claims, role.browser.maxAge, now)),
    ),
  ];
  const failed = problems.find((problem) => !problem.ok);
  if (failed && !failed.ok) return failed;
  const listed = await withGraphGroups(attempt, known, role, claims, tokens.accessToken);
  if (!listed.ok) return listed;
  const all = await withUserinfo(known, role, listed.value, tokens.accessToken);
  const identity = checkClaims(known.config, role, all, now, checks);
  return identity.ok ? ok({ identity: identity.value, subject }) : identity;
}

/**
 * Adds the claims of the userinfo endpoint when the role needs a claim that the ID token lacks. Claims of the ID token
 * win, as they are signed. As in the reference, a login goes on without an answer of that endpoint.
 */
async function withUserinfo(
  { provider, listed }: KnownProvider,
  role: JwtRole,
  claims: Claims,
  accessToken: string,
): Promise<Claims> {
  const { userClaim, groupsClaim, boundClaims, claimMappings } = role;
  const needed = [userClaim, groupsClaim, ...Object.keys(boundClaims), ...Object.keys(claimMappings)];
  const isComplete = needed.every((name) => name === "" || (claimAt(claims, name) ?? null) !== null);
  if (isComplete || provider.userinfo === null || accessToken === "") return claims;
  const more = await fetchUserinfo(provider.userinfo, accessToken, listed);
  // Claims about anybody else must not be used (OpenID Connect Core, 5.3.2).
  if (!more.ok || typeof claims.sub !== "string" || more.value.sub !== claims.sub) return claims;
  const { iss, aud, azp, exp, nbf, iat, ...aboutHolder } = more.value;
  return { ...aboutHolder, ...claims };
}

function orInvalid(problem: string | null): Result<null> {
  return problem === null ? ok(null) : refuse(`Token verification failed. ${problem}`);
}
