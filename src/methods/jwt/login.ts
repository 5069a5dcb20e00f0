import {
  addressProblem,
  EXPLAINED_ADDRESS,
  LAST_CHECKS,
  type LoginAttempt,
  type VerifiedClient,
} from "../../auth/login-attempt.ts";
import type { Route } from "../../auth/route.ts";
import { bindAddress, tokenTerms } from "../../auth/token-settings.ts";
import { currentTime, type Ms } from "../../base/clock.ts";
import { nameKey } from "../../base/name.ts";
import { privateHosts } from "../../base/outbound-hosts.ts";
import { serviceUnavailable } from "../../base/outbound-http.ts";
import { err, ok, type Result, refuse } from "../../base/result.ts";
import { anyObject, fieldSchema, pasted, text, type Values } from "../../wire/fields.ts";
import { type Claims, MAX_JWT_LENGTH, readJwtHead, unverifiedClaims, verifySignature } from "../jws.ts";
import { loginRoutes } from "../login-routes.ts";
import { isRoleName } from "../roles.ts";
import {
  audienceProblem,
  boundClaimProblem,
  claimAt,
  groupsClaimOf,
  leewaysInForce,
  listOf,
  mappedText,
  timesOf,
  userClaimOf,
  validityProblem,
} from "./claims.ts";
import type { JwtConfig } from "./config.ts";
import { jwtAuthAt } from "./jwt-auth.ts";
import { keysFor } from "./keys.ts";
import type { JwtRole } from "./role.ts";

/** Descriptions of the checks of a login. Each bound claim and each mapped claim has a further check. */
const CHECKS = {
  role: "The role exists.",
  configuration: "The mount knows whose tokens it trusts.",
  address: "The client's address is in a network that the role is bound to.",
  form: "A signed token was sent, by an algorithm that the mount takes.",
  keys: "The keys of the issuer are known.",
  signature: "One of these keys has signed the token.",
  times: "The token is valid now, by its exp, nbf and iat.",
  bound_issuer: "The issuer (iss) is the one that the mount trusts.",
  bound_subject: "The subject (sub) is the one that the role is bound to.",
  bound_audiences: "An audience (aud) is one that the role is bound to.",
  user_claim: "The claim that names the holder is there.",
  groups_claim: "The claim that lists groups can be read. Without it the client is in no group.",
  ...LAST_CHECKS,
} as const;

type Attempt = LoginAttempt<keyof typeof CHECKS>;

/** Input of a login: the role ("" for the default one) and a token. An explanation can have claims instead of one. */
type LoginInput = { readonly role: string } & ({ readonly jwt: string } | { readonly claims: Claims });

/**
 * Makes the checks of a login. A login ends at the first failure, so that a client without a role causes no fetch of
 * keys and no verification. An explanation also checks the claims of an unverified token, without further effect.
 * Writes nothing.
 */
async function verifyJwt(attempt: Attempt, token: LoginInput): Promise<Result<VerifiedClient>> {
  const { env, mount, clientAddress, notes, checks } = attempt;
  const now = currentTime();
  const asked = nameKey(token.role);
  if (asked !== "" && !isRoleName(asked)) return checks.record("role", {}, refuse("role could not be found"));
  const { config: configuration, role: found, roleName } = await jwtAuthAt(env, mount).readLogin(asked);
  if (roleName !== "") notes.role = roleName;
  const config = checks.record("configuration", {}, orRefusal(configuration, "could not load configuration"));
  if (!config.ok) return config;
  const missing = roleName === "" ? "missing role" : `role "${roleName}" could not be found`;
  const role = checks.record("role", { actual: shown(roleName || null) }, orRefusal(found, missing));
  if (!role.ok) return role;
  notes.roleExists = true;
  if ("jwt" in token && token.jwt === "") return checks.record("form", {}, refuse("missing token"));
  const { token: settings } = role.value;
  const address = { bound: settings.boundCidrs, actual: shown(clientAddress) };
  const boundCidrs = checks.record("address", address, bindAddress(settings, clientAddress));
  if (!boundCidrs.ok && !checks.goesOn) return boundCidrs;
  const verified = await verifyClaims(attempt, config.value, token, now);
  if (!verified.ok) {
    const unverified = checks.goesOn && "jwt" in token ? unverifiedClaims(token.jwt) : null;
    if (unverified) checkClaims(config.value, role.value, unverified, now, checks);
    return verified;
  }
  if (typeof verified.value.sub === "string") notes.principal = verified.value.sub;
  const identity = checkClaims(config.value, role.value, verified.value, now, checks);
  if (!identity.ok) return identity;
  if (!boundCidrs.ok) return boundCidrs;
  const metadata = { ...identity.value.metadata, role: roleName };
  const terms = tokenTerms(settings, boundCidrs.value);
  return ok({
    alias: { ...identity.value, metadata },
    token: { ...terms, displayName: identity.value.name, metadata, internal: { role: roleName } },
  });
}

async function verifyClaims({ env, checks }: Attempt, config: JwtConfig, token: LoginInput, now: Ms) {
  if ("claims" in token) return checks.assume("signature", {}, token.claims);
  const { jwt } = token;
  const read = readJwtHead(jwt, config.algorithms);
  const algorithm = read.ok ? read.value.algorithm : null;
  const head = checks.record("form", { bound: config.algorithms, actual: algorithm }, orInvalid(read));
  if (!head.ok) return head;
  const { kid } = head.value;
  const known = await keysFor(config, kid, privateHosts(env), now);
  const keys = checks.record("keys", {}, known.ok ? known : err(serviceUnavailable(known.error)));
  if (!keys.ok) return keys;
  const claims = await verifySignature(jwt, head.value.algorithm, keys.value);
  // Keys in PEM have no ids.
  const ids = config.publicKeys.length > 0 ? [] : keys.value.flatMap((key) => shown(key.kid) ?? []);
  return checks.record("signature", { bound: ids, actual: shown(kid) }, orInvalid(claims));
}

const MAX_SHOWN = 256;
/** A string that looks like another JSON type without its quotes. */
const AMBIGUOUS = /^(true|false|null|-?\d+(\.\d+)?|[{["].*)$/;

/** The value of a claim for a check. A string that looks like another type has quotes, because types are compared. */
function shown(value: unknown): string | null {
  if (value === undefined || value === null) return null;
  const text = typeof value === "string" && !AMBIGUOUS.test(value) ? value : JSON.stringify(value);
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}

/**
 * Compares the claims of a token with the role. Makes all checks, even after a failure; returns the first one, else the
 * alias with the mapped claims. Messages are the reference's where it has the rule.
 */
function checkClaims(
  config: JwtConfig,
  role: JwtRole,
  claims: Claims,
  now: Ms,
  checks: Attempt["checks"],
): Result<VerifiedClient["alias"]> {
  const problems: string[] = [];
  const named = (name: string, words: string, bound: unknown, actual: unknown, problem: string | null) => {
    if (problem !== null) problems.push(problem);
    const compared = { bound: listOf(bound).flatMap((value) => shown(value) ?? []), actual: shown(actual) };
    checks.recordNamed(name, words, compared, problem === null ? ok(null) : refuse(problem));
  };
  const check = (name: keyof typeof CHECKS, bound: unknown, actual: unknown, problem: string | null) =>
    named(name, CHECKS[name], bound, actual, problem);
  const inToken = (problem: string | null) => problem && `error validating token: ${problem}`;

  const { boundSubject, boundAudiences } = role;
  const validity = validityProblem(claims, role.leeways, now);
  check("times", leewaysInForce(role.leeways), timesOf(claims), inToken(validity));
  const issuer = config.boundIssuer || config.discoveryUrl;
  check("bound_issuer", issuer || [], claims.iss, inToken(issuerProblem(config, claims)));
  const isOther = boundSubject !== "" && claims.sub !== boundSubject;
  check("bound_subject", boundSubject || [], claims.sub, inToken(isOther ? "invalid subject (sub) claim" : null));
  check("bound_audiences", boundAudiences, claims.aud, inToken(audienceProblem(claims, boundAudiences)));
  for (const [name, expected] of Object.entries(role.boundClaims)) {
    const problem = boundClaimProblem(claims, name, expected, role.boundClaimsType);
    const message = problem && `error validating claims: ${problem}`;
    const words = `The claim "${name}" has one of the values that the role is bound to.`;
    named(`bound_claims.${name}`, words, expected, claimAt(claims, name), message);
  }

  const { userClaim, groupsClaim } = role;
  const holder = userClaimOf(claims, userClaim, role.userClaimJsonPointer);
  check("user_claim", userClaim, holder.ok ? holder.value : null, problemOf(holder));
  const metadata: Record<string, string> = {};
  for (const [name, key] of Object.entries(role.claimMappings)) {
    const mapped = mappedText(claims, name);
    const words = `The claim "${name}" can be copied into the metadata of the token, if it is there.`;
    named(`claim_mappings.${name}`, words, key, claimAt(claims, name), problemOf(mapped));
    if (mapped.ok && mapped.value !== null) metadata[key] = mapped.value;
  }
  // Without a groups claim the holder is in no group. Otherwise it would stay in groups that it has left at the issuer.
  const groups = groupsClaim === "" ? ok([]) : groupsClaimOf(claims, groupsClaim);
  if (groupsClaim !== "") check("groups_claim", groupsClaim, groups.ok ? groups.value : null, problemOf(groups));
  const [problem] = problems;
  if (problem !== undefined) return refuse(problem);
  if (!holder.ok || !groups.ok) throw new Error("a claim that can't be read has a check that failed");
  return ok({ name: holder.value, metadata, groups: groups.value });
}

/** Keys from discovery belong to one issuer. Only tokens of that issuer are accepted. */
function issuerProblem({ boundIssuer, discoveryUrl }: JwtConfig, claims: Claims): string | null {
  if (boundIssuer !== "") return claims.iss === boundIssuer ? null : "invalid issuer (iss) claim";
  if (discoveryUrl === "") return null;
  const { iss } = claims;
  return typeof iss === "string" && iss.replace(/\/$/, "") === discoveryUrl ? null : "invalid issuer (iss) claim";
}

function problemOf(result: Result<unknown, string>): string | null {
  return result.ok ? null : result.error;
}

function orRefusal<T>(value: T | null, message: string): Result<T> {
  return value === null ? refuse(message) : ok(value);
}

function orInvalid<T>(result: Result<T, string>): Result<T> {
  return result.ok ? result : refuse(`error validating token: ${result.error}`);
}

const LOGIN_FIELDS = fieldSchema({
  role: text().describe("The role; the mount's default unless sent"),
  jwt: pasted().describe("The signed token"),
});

const EXPLAIN_FIELDS = fieldSchema({
  ...LOGIN_FIELDS.shape,
  claims: anyObject().describe("The claims of a token, in the place of one: taken as said"),
  ...EXPLAINED_ADDRESS,
});

function readExplained(fields: Values<typeof EXPLAIN_FIELDS>): Result<LoginInput> {
  const { role, jwt, claims } = fields;
  const problem = addressProblem(fields);
  if (problem) return refuse(problem);
  if ((jwt === "") === (claims === undefined)) return refuse("supply a jwt, or the claims of one");
  if (claims === undefined) return ok({ role, jwt });
  const tooLarge = JSON.stringify(claims).length > MAX_JWT_LENGTH;
  return tooLarge ? refuse("the claims are too large") : ok({ role, claims });
}

export const JWT_LOGIN_ROUTES: readonly Route[] = loginRoutes({
  summary: "Gives a token in exchange for a signed token of a trusted issuer.",
  checks: CHECKS,
  fields: LOGIN_FIELDS,
  explainFields: EXPLAIN_FIELDS,
  read: (fields): LoginInput => fields,
  readExplained,
  verify: verifyJwt,
  proofs: ["signature"],
  lastChecks: ["entity", "token"],
  shownAlias: shown,
  objectAt: jwtAuthAt,
});
