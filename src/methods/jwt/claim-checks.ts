import { type Failure, invalid } from "../../base/errors.ts";
import type { Result } from "../../base/result.ts";
import { audienceProblem, boundClaimProblem, type Claims, claimAt, groupsOf, holderOf, mappedText } from "./claims.ts";
import type { JwtConfig } from "./config.ts";
import type { JwtRole } from "./role.ts";
import { leewaysInForce, timesOf, validityProblem } from "./validity.ts";

/** A check of a login, as it was made. */
export interface Check {
  /** `bound_claims.NAME` and `claim_mappings.NAME` for one of several claims. */
  readonly name: string;
  readonly description: string;
  /** What the role or the mount asks for; empty where it asks for nothing. */
  readonly bound: readonly string[];
  /** What was sent, not more of it than can be read; null where nothing was. */
  readonly actual: string | null;
  /** What the login is answered; null unless the check failed. */
  readonly failure: Failure | null;
  /** Set where it was not made: what was sent is taken as true, or another one failed before it. */
  readonly unmade?: "assumed" | "not_reached";
}

/** Who a token says its holder is. */
export interface JwtIdentity {
  /** The name that the mount knows the holder by. */
  readonly alias: string;
  readonly metadata: Readonly<Record<string, string>>;
  /** Names of the groups that the token says; null where the role reads none. */
  readonly groups: readonly string[] | null;
}

/** All checks of the claims of a token, in order: a login is answered with the first that failed. */
export interface CheckedClaims {
  readonly checks: readonly Check[];
  /** null when a check failed. */
  readonly identity: JwtIdentity | null;
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
 * Compares the claims of a token with what the role asks for: the rules of a login and of its explanation. Messages are those of
 * the reference where it has the rule.
 *
 * @param now ms.
 */
export function checkClaims(
  config: Pick<JwtConfig, "boundIssuer" | "discoveryUrl">,
  role: JwtRole,
  claims: Claims,
  now: number,
): CheckedClaims {
  const checks: Check[] = [];
  const add = (name: string, description: string, bound: readonly unknown[], actual: unknown, problem: string | null) =>
    checks.push({
      name,
      description,
      bound: bound.flatMap((value) => shown(value) ?? []),
      actual: shown(actual),
      failure: problem === null ? null : invalid(problem),
    });
  const inToken = (problem: string | null) => problem && `error validating token: ${problem}`;

  const { boundSubject, boundAudiences } = role;
  add(
    "times",
    "The token is valid now, by its exp, nbf and iat.",
    leewaysInForce(role.leeways),
    timesOf(claims),
    inToken(validityProblem(claims, role.leeways, now)),
  );
  const issuers = [config.boundIssuer || config.discoveryUrl].filter((issuer) => issuer !== "");
  const issuer = inToken(issuerProblem(config, claims));
  add("bound_issuer", "The issuer (iss) is the one that the mount trusts.", issuers, claims.iss, issuer);
  const isOther = boundSubject !== "" && claims.sub !== boundSubject;
  const subject = inToken(isOther ? "invalid subject (sub) claim" : null);
  const subjects = boundSubject === "" ? [] : [boundSubject];
  add("bound_subject", "The subject (sub) is the one that the role is bound to.", subjects, claims.sub, subject);
  const audience = inToken(audienceProblem(claims, boundAudiences));
  add("bound_audiences", "An audience (aud) is one that the role is bound to.", boundAudiences, claims.aud, audience);
  for (const [name, expected] of Object.entries(role.boundClaims)) {
    const wanted: readonly unknown[] = Array.isArray(expected) ? expected : [expected];
    const problem = boundClaimProblem(claims, name, expected, role.boundClaimsType);
    const message = problem && `error validating claims: ${problem}`;
    const words = `The claim "${name}" has one of the values that the role is bound to.`;
    add(`bound_claims.${name}`, words, wanted, claimAt(claims, name), message);
  }

  const named = role.userClaim;
  const holder = holderOf(claims, named, role.userClaimJsonPointer);
  add("user_claim", "The claim that names the holder is there.", [named], resultOf(holder), problemOf(holder));
  const metadata: Record<string, string> = {};
  for (const [name, key] of Object.entries(role.claimMappings)) {
    const mapped = mappedText(claims, name);
    const words = `The claim "${name}" can be copied into the metadata of the token, if it is there.`;
    add(`claim_mappings.${name}`, words, [key], claimAt(claims, name), problemOf(mapped));
    if (mapped.ok && mapped.value !== null) metadata[key] = mapped.value;
  }
  const groups = role.groupsClaim === "" ? null : groupsOf(claims, role.groupsClaim);
  if (groups) {
    add(
      "groups_claim",
      "The claim that lists groups is there.",
      [role.groupsClaim],
      resultOf(groups),
      problemOf(groups),
    );
  }
  const good = holder.ok && (groups?.ok ?? true) && checks.every(({ failure }) => failure === null);
  const identity = good ? { alias: holder.value, metadata, groups: groups?.ok ? groups.value : null } : null;
  return { checks, identity };
}

/** Keys from discovery belong to one issuer. Only tokens of that issuer count, whatever else the keys sign. */
function issuerProblem({ boundIssuer, discoveryUrl }: Pick<JwtConfig, "boundIssuer" | "discoveryUrl">, claims: Claims) {
  if (boundIssuer !== "") return claims.iss === boundIssuer ? null : "invalid issuer (iss) claim";
  if (discoveryUrl === "") return null;
  const { iss } = claims;
  return typeof iss === "string" && iss.replace(/\/$/, "") === discoveryUrl ? null : "invalid issuer (iss) claim";
}

function resultOf<T>(result: Result<T, string>): T | null {
  return result.ok ? result.value : null;
}

function problemOf(result: Result<unknown, string>): string | null {
  return result.ok ? null : result.error;
}
