import { ok, type Result, refuse } from "../base/result.ts";
import { namesRoot, normalizePolicyNames, policyNameProblem, ROOT_POLICY } from "../policy/policy-names.ts";

const MAX_POLICIES = 256;

/**
 * Normalises the policies of an entity or a group. Every spelling that is normalised to `root` anywhere is refused: a
 * caller that can edit an entity must not be able to make it root (CVE-2024-9180, CVE-2025-54996).
 */
export function identityPolicies(sent: readonly string[] | null): Result<string[] | null> {
  if (sent === null) return ok(null);
  if (namesRoot(sent)) return refuse("policies cannot contain root");
  const policies = normalizePolicyNames(sent);
  if (policies.length > MAX_POLICIES) return refuse(`policies must not be more than ${MAX_POLICIES}`);
  const problem = policies.map(policyNameProblem).find((found) => found !== null);
  return problem ? refuse(problem) : ok(policies);
}

/** Returns stored policies without `root`. No write accepts `root`; this filter is a second line of defence. */
export function usablePolicies(stored: readonly string[]): string[] {
  return normalizePolicyNames(stored.filter((name) => name !== ROOT_POLICY));
}
