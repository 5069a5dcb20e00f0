import type { LoginChecks } from "../../auth/login-checks.ts";
import { ok, type Result, refuse } from "../../base/result.ts";
import {
  audienceProblem,
  boundClaimProblem,
  type Claims,
  claimAt,
  groupsOf,
  holderOf,
  leewaysInForce,
  listOf,
  mappedText,
  timesOf,
  validityProblem,
} from "./claims.ts";
import type { JwtConfig } from "./config.ts";
import type { JwtRole } from "./role.ts";

/** Descriptions of the checks of claims. Each bound claim and each mapped claim has a further check. */
export const CLAIM_CHECKS = {
  times: "The token is valid now, by its exp, nbf and iat.",
  bound_issuer: "The issuer (iss) is the one that the mount trusts.",
  bound_subject: "The subject (sub) is the one that the role is bound to.",
  bound_audiences: "An audience (aud) is one that the role is bound to.",
  user_claim: "The claim that names the holder is there.",
  groups_claim: "The claim that lists groups is there.",
} as const;

/** The identity of the holder according to the token. */
export interface JwtIdentity {
  /** Name of the alias at the mount. */
  readonly alias: string;
  readonly metadata: Readonly<Record<string, string>>;
  /** Names of the groups in the token; null when the role reads none. */
  readonly groups: readonly string[] | null;
}

/** Maximum length of a value in a check. */
const MAX_SHOWN = 256;

/** A string that looks like another JSON type without its quotes. */
const AMBIGUOUS = /^(true|false|null|-?\d+(\.\d+)?|[{["].*)$/;

/** Returns the value of a claim for a check. A string that looks like another type has quotes, because types are compared. */
export function shown(value: unknown): string | null {
  if (value === undefined || value === null) return null;
  const text = typeof value === "string" && !AMBIGUOUS.test(value) ? value : JSON.stringify(value);
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}

/**
 * Compares the claims of a token with the role. Makes all checks, even after a failure. Messages are the reference's where it
 * has the rule.
 *
 * @param now ms.
 * @returns the identity, or the first failure.
 */
export function checkClaims(
  config: Pick<JwtConfig, "boundIssuer" | "discoveryUrl">,
  role: JwtRole,
  claims: Claims,
  now: number,
  checks: LoginChecks<keyof typeof CLAIM_CHECKS>,
): Result<JwtIdentity> {
  const problems: string[] = [];
  const named = (name: string, words: string, bound: unknown, actual: unknown, problem: string | null) => {
    if (problem !== null) problems.push(problem);
    const compared = { bound: listOf(bound).flatMap((value) => shown(value) ?? []), actual: shown(actual) };
    checks.recordNamed(name, words, compared, problem === null ? ok(null) : refuse(problem));
  };
  const check = (name: keyof typeof CLAIM_CHECKS, bound: unknown, actual: unknown, problem: string | null) =>
    named(name, CLAIM_CHECKS[name], bound, actual, problem);
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
  const holder = holderOf(claims, userClaim, role.userClaimJsonPointer);
  check("user_claim", userClaim, holder.ok ? holder.value : null, problemOf(holder));
  const metadata: Record<string, string> = {};
  for (const [name, key] of Object.entries(role.claimMappings)) {
    const mapped = mappedText(claims, name);
    const words = `The claim "${name}" can be copied into the metadata of the token, if it is there.`;
    named(`claim_mappings.${name}`, words, key, claimAt(claims, name), problemOf(mapped));
    if (mapped.ok && mapped.value !== null) metadata[key] = mapped.value;
  }
  const groups = groupsClaim === "" ? ok(null) : groupsOf(claims, groupsClaim);
  if (groupsClaim !== "") check("groups_claim", groupsClaim, groups.ok ? groups.value : null, problemOf(groups));
  const [problem] = problems;
  if (problem !== undefined) return refuse(problem);
  if (!holder.ok || !groups.ok) throw new Error("a claim that can't be read has a check that failed");
  return ok({ alias: holder.value, metadata, groups: groups.value });
}

/** Keys from discovery belong to one issuer. Only tokens of that issuer are accepted. */
function issuerProblem({ boundIssuer, discoveryUrl }: Pick<JwtConfig, "boundIssuer" | "discoveryUrl">, claims: Claims) {
  if (boundIssuer !== "") return claims.iss === boundIssuer ? null : "invalid issuer (iss) claim";
  if (discoveryUrl === "") return null;
  const { iss } = claims;
  return typeof iss === "string" && iss.replace(/\/$/, "") === discoveryUrl ? null : "invalid issuer (iss) claim";
}

function problemOf(result: Result<unknown, string>): string | null {
  return result.ok ? null : result.error;
}
