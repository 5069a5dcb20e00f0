import { err, ok, type Result } from "../../base/result.ts";
import {
  normalizePolicyName,
  normalizePolicyNames,
  policyAssignRefusal,
  policyNameProblem,
} from "../../policy/policy-names.ts";
import type { TokenRole } from "../role.ts";
import { globMatches } from "./glob.ts";

export interface PolicyChoice {
  /** As sent; null when the field is absent or an empty list. */
  readonly requested: readonly string[] | null;
  readonly noDefaultPolicy: boolean;
  /** The caller's token policies; policies of its entity do not count. */
  readonly callerPolicies: readonly string[];
  readonly sudo: boolean;
  readonly role: TokenRole | null;
}

/**
 * Decides the policies of a new token: lower case, sorted, without repeats. A role that has policy lists decides by
 * them. Otherwise a caller without sudo can give at most its own policies, and a caller with sudo any. If the role has
 * `token_no_default_policy`, the token gets `default` only when that is named. Messages are the reference's
 * (test/conformance/lines.json T11, T25, T30 to T35).
 */
export function choosePolicies(choice: PolicyChoice): Result<string[], string> {
  const { requested, noDefaultPolicy, role } = choice;
  const problem = requested?.map(normalizePolicyName).find((name) => name !== "" && policyNameProblem(name));
  if (problem !== undefined) return err(policyNameProblem(problem) ?? "");
  const chosen = role && hasPolicyLists(role) ? chooseByRole(choice, role) : chooseByCaller(choice);
  if (!chosen.ok) return chosen;
  const withoutDefault = noDefaultPolicy || (role?.tokenNoDefaultPolicy && !namesDefault(choice, role));
  const policies = withoutDefault ? chosen.value.filter((name) => name !== "default") : chosen.value;
  const refusal = policyAssignRefusal(policies);
  return refusal ? err(refusal) : ok(policies);
}

function chooseByCaller({ requested, callerPolicies, sudo }: PolicyChoice): Result<string[], string> {
  if (requested === null) return ok([...callerPolicies]);
  const names = normalizePolicyNames(requested);
  const isSubset = names.every((name) => callerPolicies.includes(name));
  if (!sudo && !isSubset) return err("child policies must be subset of parent");
  return ok(sudo || callerPolicies.includes("default") ? withDefault(names) : names);
}

function chooseByRole(choice: PolicyChoice, role: TokenRole): Result<string[], string> {
  const addDefault = !choice.noDefaultPolicy && !role.tokenNoDefaultPolicy && !disallows(role, "default");
  const { allowedPolicies, allowedPoliciesGlob: globs } = role;
  const isLimited = allowedPolicies.length > 0 || globs.length > 0;
  const granted = isLimited ? allowedPolicies : choice.callerPolicies;
  const permitted = addDefault ? withDefault(granted) : [...granted];
  const asked = choice.requested && normalizePolicyNames(choice.requested);
  const requested = asked && addDefault ? withDefault(asked) : asked;
  const fits = (name: string) => permitted.includes(name) || globs.some((glob) => globMatches(glob, name));
  if (isLimited && requested && !requested.every(fits)) {
    return err(
      `token policies (${quoteList(requested)}) must be subset of the role's allowed policies (${quoteList(permitted)}) or glob policies (${quoteList(globs)})`,
    );
  }
  const policies = requested ?? permitted;
  const refused = policies.find((name) => disallows(role, name));
  if (refused !== undefined) return err(`token policy ${JSON.stringify(refused)} is disallowed by this role`);
  return ok(policies);
}

/** True when the request names `default`. For a request without policies: when the role's allowed policies name it. */
function namesDefault({ requested }: PolicyChoice, role: TokenRole): boolean {
  return normalizePolicyNames(requested ?? role.allowedPolicies).includes("default");
}

/** True when the role has any of the four policy lists. A role without them does not change the policies. */
function hasPolicyLists(role: TokenRole): boolean {
  const { allowedPolicies, allowedPoliciesGlob, disallowedPolicies, disallowedPoliciesGlob } = role;
  const lists = [allowedPolicies, allowedPoliciesGlob, disallowedPolicies, disallowedPoliciesGlob];
  return lists.some((list) => list.length > 0);
}

function disallows(role: TokenRole, name: string): boolean {
  return role.disallowedPolicies.includes(name) || role.disallowedPoliciesGlob.some((glob) => globMatches(glob, name));
}

/** Adds `default`. A list with `root` becomes `root` alone (`normalizePolicyNames`), without `default`. */
function withDefault(names: readonly string[]): string[] {
  return normalizePolicyNames([...names, "default"]);
}

function quoteList(names: readonly string[]): string {
  return `[${names.map((name) => JSON.stringify(name)).join(" ")}]`;
}
