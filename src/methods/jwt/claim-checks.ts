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
  mappedText,
  timesOf,
  validityProblem,
} from "./claims.ts";
import type { JwtConfig } from "./config.ts";
import type { JwtRole } from "./role.ts";

/** The checks of the claims, in words. Beside them is one for each bound claim and for each claim that is mapped. */
export const CLAIM_CHECKS = {
  times: "The token is valid now, by its exp, nbf and iat.",
  bound_issuer: "The issuer (iss) is the one that the mount trusts.",
  bound_subject: "The subject (sub) is the one that the role is bound to.",
  bound_audiences: "An audience (aud) is one that the role is bound to.",
  user_claim: "The claim that names the holder is there.",
  groups_claim: "The claim that lists groups is there.",
} as const;

/** Who a token says its holder is. */
export interface JwtIdentity {
  /** The name that the mount knows the holder by. */
  readonly alias: string;
  readonly metadata: Readonly<Record<string, string>>;
  /** Names of the groups that the token says; null where the role reads none. */
  readonly groups: readonly string[] | null;
}

/** Longest part of a value that a check shows. */
const MAX_SHOWN = 256;

/** A value that means something else as a string than without its quotes. */
const AMBIGUOUS = /^(true|false|null|-?\d+(\.\d+)?|[{["].*)$/;

/** A value of a claim to be read: types count, so a string that could be taken for another type has its quotes. */
export function shown(value: unknown): string | null {
  if (value === undefined || value === null) return null;
  const text = typeof value === "string" && !AMBIGUOUS.test(value) ? value : JSON.stringify(value);
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}

/**
 * Compares the claims of a token with what the role asks for. Makes all checks, whichever of them fail; messages are those of the
 * reference where it has the rule.
 *
 * @param now ms.
 * @returns the first failure, which a login is answered with.
 */
export function checkClaims(
  config: Pick<JwtConfig, "boundIssuer" | "discoveryUrl">,
  role: JwtRole,
  claims: Claims,
  now: number,
  checks: LoginChecks<keyof typeof CLAIM_CHECKS>,
): Result<JwtIdentity> {
  const problems: string[] = [];
  const checkNamed = (
    name: string,
    words: string,
    bound: readonly unknown[],
    actual: unknown,
    problem: string | null,
  ) => {
    if (problem !== null) problems.push(problem);
    const compared = { bound: bound.flatMap((value) => shown(value) ?? []), actual: shown(actual) };
    checks.recordNamed(name, words, compared, problem === null ? ok(null) : refuse(problem));
  };
  const check = (name: keyof typeof CLAIM_CHECKS, bound: readonly unknown[], actual: unknown, problem: string | null) =>
    checkNamed(name, CLAIM_CHECKS[name], bound, actual, problem);
  const inToken = (problem: string | null) => problem && `error validating token: ${problem}`;

  const { boundSubject, boundAudiences } = role;
  const validity = validityProblem(claims, role.leeways, now);
  check("times", leewaysInForce(role.leeways), timesOf(claims), inToken(validity));
  const issuers = [config.boundIssuer || config.discoveryUrl].filter((issuer) => issuer !== "");
  check("bound_issuer", issuers, claims.iss, inToken(issuerProblem(config, claims)));
  const isOther = boundSubject !== "" && claims.sub !== boundSubject;
  const subjects = boundSubject === "" ? [] : [boundSubject];
  check("bound_subject", subjects, claims.sub, inToken(isOther ? "invalid subject (sub) claim" : null));
  check("bound_audiences", boundAudiences, claims.aud, inToken(audienceProblem(claims, boundAudiences)));
  for (const [name, expected] of Object.entries(role.boundClaims)) {
    const wanted: readonly unknown[] = Array.isArray(expected) ? expected : [expected];
    const problem = boundClaimProblem(claims, name, expected, role.boundClaimsType);
    const message = problem && `error validating claims: ${problem}`;
    const words = `The claim "${name}" has one of the values that the role is bound to.`;
    checkNamed(`bound_claims.${name}`, words, wanted, claimAt(claims, name), message);
  }

  const named = role.userClaim;
  const holder = holderOf(claims, named, role.userClaimJsonPointer);
  check("user_claim", [named], holder.ok ? holder.value : null, problemOf(holder));
  const metadata: Record<string, string> = {};
  for (const [name, key] of Object.entries(role.claimMappings)) {
    const mapped = mappedText(claims, name);
    const words = `The claim "${name}" can be copied into the metadata of the token, if it is there.`;
    checkNamed(`claim_mappings.${name}`, words, [key], claimAt(claims, name), problemOf(mapped));
    if (mapped.ok && mapped.value !== null) metadata[key] = mapped.value;
  }
  const listed = role.groupsClaim;
  const groups = listed === "" ? ok(null) : groupsOf(claims, listed);
  if (listed !== "") check("groups_claim", [listed], groups.ok ? groups.value : null, problemOf(groups));
  const [problem] = problems;
  if (problem !== undefined) return refuse(problem);
  if (!holder.ok || !groups.ok) throw new Error("a claim that can't be read has a check that failed");
  return ok({ alias: holder.value, metadata, groups: groups.value });
}

/** Keys from discovery belong to one issuer. Only tokens of that issuer count, whatever else the keys sign. */
function issuerProblem({ boundIssuer, discoveryUrl }: Pick<JwtConfig, "boundIssuer" | "discoveryUrl">, claims: Claims) {
  if (boundIssuer !== "") return claims.iss === boundIssuer ? null : "invalid issuer (iss) claim";
  if (discoveryUrl === "") return null;
  const { iss } = claims;
  return typeof iss === "string" && iss.replace(/\/$/, "") === discoveryUrl ? null : "invalid issuer (iss) claim";
}

function problemOf(result: Result<unknown, string>): string | null {
  return result.ok ? null : result.error;
}
