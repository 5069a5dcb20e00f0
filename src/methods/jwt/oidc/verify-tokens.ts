import { createHash } from "node:crypto";
import type { VerifiedClient } from "../../../auth/login-attempt.ts";
import type { Ms } from "../../../base/clock.ts";
import { type PrivateHosts, privateHosts } from "../../../base/outbound-hosts.ts";
import { serviceUnavailable } from "../../../base/outbound-http.ts";
import { err, ok, type Result, refuse } from "../../../base/result.ts";
import type { Claims } from "../../jws.ts";
import { checkClaims, clientByClaims, shown } from "../claim-checks.ts";
import { claimAt } from "../claims.ts";
import type { JwtConfig } from "../config.ts";
import type { JwtRole } from "../role.ts";
import { verifySignedToken } from "../signed-token.ts";
import type { OidcAttempt } from "./browser-checks.ts";
import type { BrowserLogin } from "./browser-role.ts";
import { openClientSecret } from "./client-secret.ts";
import { exchange, fetchUserinfo, type IssuedTokens, type OidcClient, refusalText } from "./code-exchange.ts";
import { withGraphGroups } from "./graph-groups.ts";
import { accessTokenProblem, ageProblem, nonceProblem } from "./id-token.ts";
import type { CodeLogin, Holder } from "./pending-login-state.ts";
import { type Provider, providerOf } from "./provider-discovery.ts";

/** A provider, and this server as its client. */
export interface KnownProvider {
  readonly config: JwtConfig;
  readonly provider: Provider;
  readonly client: OidcClient;
  readonly listed: PrivateHosts;
}

/** Beginning of the messages of logins that fail, by which clients know them. */
export const LOGIN_FAILED = "Vault login failed.";

/**
 * Returns the provider of a mount. `revision` is that of the configuration when the login began, or null: the answer of
 * one issuer must not be taken to another one.
 */
export async function knownProvider(
  { env, installation, mount, checks }: OidcAttempt,
  found: JwtConfig | null,
  revision: string | null,
): Promise<Result<KnownProvider>> {
  const same = sameConfig(found, revision);
  if (!same.ok) return checks.record("configuration", {}, same);
  const config = same.value;
  const secret = await openClientSecret(installation.keys, mount, config);
  const { clientId: id } = config;
  if (id === undefined || secret === null) {
    return checks.record("configuration", {}, refuse("OIDC login is not configured for this mount"));
  }
  const listed = privateHosts(env);
  const provider = await providerOf(config, listed);
  if (!provider.ok) return checks.record("configuration", {}, err(serviceUnavailable(provider.error)));
  return checks.record("configuration", {}, ok({ config, provider: provider.value, client: { id, secret }, listed }));
}

/** Returns the configuration of a mount, if it is still that of this revision. @param revision null: any. */
export function sameConfig(found: JwtConfig | null, revision: string | null): Result<JwtConfig> {
  if (!found) return refuse("could not load configuration");
  const isSame = revision === null || found.revision === revision;
  return isSame ? ok(found) : refuse(`${LOGIN_FAILED} The configuration has changed: begin again.`);
}

type BrowserRole = JwtRole & { readonly browser: BrowserLogin };

/** Returns the role of a login, if it takes logins through a browser. */
export function browserRole(
  { checks, notes }: OidcAttempt,
  { roleName, role }: { readonly roleName: string; readonly role: JwtRole | null },
): Result<BrowserRole> {
  if (roleName !== "") notes.role = roleName;
  const actual = shown(roleName || null);
  if (roleName === "") return checks.record("role", { actual }, refuse("missing role"));
  if (!role) return checks.record("role", { actual }, refuse(`role "${roleName}" could not be found`));
  notes.roleExists = true;
  const { browser } = role;
  if (!browser) return checks.record("role", { actual }, refuse("role with jwt role_type is not allowed"));
  return checks.record("role", { actual }, ok({ ...role, browser }));
}

/** A digest of what a role asks of a person. It stays the same after a change of what the role gives. */
export function conditionsOf({ token: _, ...conditions }: BrowserRole): string {
  return createHash("sha256").update(JSON.stringify(conditions)).digest("base64url");
}

/** Exchanges a grant for tokens. A provider that waits for a person is no failed check. */
export async function exchangeGrant(
  { checks }: OidcAttempt,
  { provider, client, listed }: KnownProvider,
  grant: Readonly<Record<string, string>>,
): Promise<Result<IssuedTokens>> {
  const tokens = await exchange(provider, client, grant, listed);
  if (tokens.ok) return checks.record("oidc_exchange", {}, tokens);
  const { error } = tokens;
  if (error.kind === "refused") {
    if (WAITING.has(error.code)) return err({ code: "pending", message: error.code });
    return checks.record(
      "oidc_exchange",
      {},
      refuse(`${LOGIN_FAILED} Error exchanging oidc code: ${refusalText(error.code)}`),
    );
  }
  return checks.record(
    "oidc_exchange",
    {},
    err(serviceUnavailable(`the token endpoint of the provider: ${error.message}`)),
  );
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

/** The client whose holder this is, with the token that the role gives. @param boundCidrs networks of the token. */
export function clientOf(
  roleName: string,
  { token }: Pick<JwtRole, "token">,
  boundCidrs: readonly string[],
  { identity }: Holder,
): VerifiedClient {
  return clientByClaims(roleName, token, boundCidrs, identity);
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
