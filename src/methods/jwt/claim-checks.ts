import type { LoginAttempt, VerifiedClient } from "../../auth/login-attempt.ts";
import { type TokenSettings, tokenTerms } from "../../auth/token-settings.ts";
import type { Ms } from "../../base/clock.ts";
import { err, ok, type Result, refuse } from "../../base/result.ts";
import type { Claims } from "../jws.ts";
import {
  audienceProblem,
  boundClaimProblem,
  claimAt,
  groupsClaimOf,
  leavesGroupsOut,
  listOf,
  mappedText,
  userClaimOf,
} from "./claims.ts";
import type { JwtConfig } from "./config.ts";
import { clientProblem, missingProblem } from "./oidc/id-token.ts";
import type { JwtRole } from "./role.ts";
import { leewaysInForce, timesOf, validityProblem } from "./validity-times.ts";

/** Descriptions of the checks of claims. Each bound claim and each mapped claim has a further check. */
export const CLAIM_CHECKS = {
  times: "The token is valid now, by its exp, nbf and iat.",
  bound_issuer: "The issuer (iss) is the one that the mount trusts.",
  bound_subject: "The subject (sub) is the one that the role is bound to.",
  oidc_claims: "The token has an end, a time of issue and a subject (exp, iat, sub). For logins through a browser.",
  oidc_client: "The token is for this server (aud, azp). For logins through a browser.",
  bound_audiences: "An audience (aud) is one that the role is bound to.",
  user_claim: "The claim that names the holder is there.",
  email_verified: "The issuer does not call the address unverified (email_verified). With the user_claim email.",
  groups_claim: "The claim that lists groups can be read. Without it the client is in no group.",
} as const;

type Checks = LoginAttempt<keyof typeof CLAIM_CHECKS>["checks"];

const MAX_SHOWN = 256;
/** A string that looks like another JSON type without its quotes. */
const AMBIGUOUS = /^(true|false|null|-?\d+(\.\d+)?|[{["].*)$/;

/** The value of a claim for a check. A string that looks like another type has quotes, because types are compared. */
export function shown(value: unknown): string | null {
  if (value === undefined || value === null) return null;
  const text = typeof value === "string" && !AMBIGUOUS.test(value) ? value : JSON.stringify(value);
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}

/**
 * Compares the claims of a token with the role. Makes all checks, even after a failure; returns the first one, else the
 * alias with the mapped claims. Messages are the reference's where it has the rule.
 */
export function checkClaims(
  config: JwtConfig,
  role: JwtRole,
  claims: Claims,
  now: Ms,
  checks: Checks,
): Result<VerifiedClient["alias"]> {
  const problems: string[] = [];
  const named = (name: string, words: string, bound: unknown, actual: unknown, problem: string | null) => {
    if (problem !== null) problems.push(problem);
    const compared = { bound: listOf(bound).flatMap((value) => shown(value) ?? []), actual: shown(actual) };
    checks.recordNamed(name, words, compared, problem === null ? ok(null) : refuse(problem));
  };
  const check = (name: keyof typeof CLAIM_CHECKS, bound: unknown, actual: unknown, problem: string | null) =>
    named(name, CLAIM_CHECKS[name], bound, actual, problem);
  const inToken = (problem: string | null) => problem && `error validating token: ${problem}`;

  const { boundSubject, boundAudiences, browser } = role;
  const validity = validityProblem(claims, role.leeways, now);
  check("times", leewaysInForce(role.leeways), timesOf(claims), inToken(validity));
  const issuer = config.boundIssuer || config.discoveryUrl;
  check("bound_issuer", issuer || [], claims.iss, inToken(issuerProblem(config, claims)));
  const isOther = boundSubject !== "" && claims.sub !== boundSubject;
  check("bound_subject", boundSubject || [], claims.sub, inToken(isOther ? "invalid subject (sub) claim" : null));
  const { clientId = "" } = config;
  if (browser) check("oidc_claims", [], claims.sub, inToken(missingProblem(claims)));
  if (browser) check("oidc_client", clientId, claims.azp ?? claims.aud, inToken(clientProblem(claims, clientId)));
  // A token for the client of this server needs no further audience.
  const forAny = browser !== undefined && boundAudiences.length === 0;
  const audience = forAny ? null : audienceProblem(claims, boundAudiences);
  check("bound_audiences", boundAudiences, claims.aud, inToken(audience));
  for (const [name, expected] of Object.entries(role.boundClaims)) {
    const problem = boundClaimProblem(claims, name, expected, role.boundClaimsType);
    const message = problem && `error validating claims: ${problem}`;
    const words = `The claim "${name}" has one of the values that the role is bound to.`;
    named(`bound_claims.${name}`, words, expected, claimAt(claims, name), message);
  }

  const { userClaim, groupsClaim } = role;
  const holder = userClaimOf(claims, userClaim, role.userClaimJsonPointer);
  check("user_claim", userClaim, holder.ok ? holder.value : null, problemOf(holder));
  if (EMAIL.has(userClaim)) check("email_verified", [], claims.email_verified, unverifiedProblem(claims));
  const metadata: Record<string, string> = {};
  for (const [name, key] of Object.entries(role.claimMappings)) {
    const mapped = mappedText(claims, name);
    const words = `The claim "${name}" can be copied into the metadata of the token, if it is there.`;
    named(`claim_mappings.${name}`, words, key, claimAt(claims, name), problemOf(mapped));
    if (mapped.ok && mapped.value !== null) metadata[key] = mapped.value;
  }
  // Without a groups claim the holder is in no group. Otherwise it would stay in groups that it has left at the issuer.
  // A token that is sent here comes without an access token, by which the groups that Entra left out could be found.
  const isIncomplete = config.provider === "azure" && !browser && leavesGroupsOut(claims, groupsClaim);
  const listed = groupsClaim === "" ? ok([]) : groupsClaimOf(claims, groupsClaim);
  const groups = isIncomplete ? err(`"${groupsClaim}" claim is left out of the token`) : listed;
  if (groupsClaim !== "") check("groups_claim", groupsClaim, groups.ok ? groups.value : null, problemOf(groups));
  const [problem] = problems;
  if (problem !== undefined) return refuse(problem);
  if (!holder.ok || !groups.ok) throw new Error("a claim that can't be read has a check that failed");
  return ok({ name: holder.value, metadata, groups: groups.value });
}

/** Names of the claim with an address of a person, with and without `user_claim_json_pointer`. */
const EMAIL: ReadonlySet<string> = new Set(["email", "/email"]);

/** Many providers let a person write any address, another person's too, until they have checked it. */
function unverifiedProblem({ email_verified: verified = true }: Claims): string | null {
  return verified === null || verified === true || verified === "true"
    ? null
    : 'the address in claim "email" is not verified (email_verified), and it names the holder';
}

/** Keys from discovery belong to one issuer. Only tokens of that issuer are accepted. */
export function issuerProblem({ boundIssuer, discoveryUrl }: JwtConfig, claims: Claims): string | null {
  if (boundIssuer !== "") return claims.iss === boundIssuer ? null : "invalid issuer (iss) claim";
  if (discoveryUrl === "") return null;
  const { iss } = claims;
  return typeof iss === "string" && iss.replace(/\/$/, "") === discoveryUrl ? null : "invalid issuer (iss) claim";
}

function problemOf(result: Result<unknown, string>): string | null {
  return result.ok ? null : result.error;
}

/** The client of a role whose claims fit. @param boundCidrs networks of its token. */
export function clientByClaims(
  roleName: string,
  settings: TokenSettings,
  boundCidrs: readonly string[],
  identity: VerifiedClient["alias"],
): VerifiedClient {
  const metadata = { ...identity.metadata, role: roleName };
  return {
    alias: { ...identity, metadata },
    token: {
      ...tokenTerms(settings, boundCidrs),
      displayName: identity.name,
      metadata,
      internal: { role: roleName },
    },
  };
}
