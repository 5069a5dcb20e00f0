import { hasUnprintable } from "../base/name.ts";
/** The policy that allows everything. A normalised list of names that contains it contains no other name. */
export const ROOT_POLICY = "root";

/** Longest name of a policy, in characters. */
export const MAX_POLICY_NAME_LENGTH = 256;

/**
 * Normalises a policy name: removes blanks around it and makes it lower case. Every name is normalised before it is
 * stored or compared. Otherwise ` ROOT` would pass the checks for `root`, and a later step would turn it into `root`.
 */
export function normalizePolicyName(name: string): string {
  return name.trim().toLowerCase();
}

/** Normalises a list of policy names: normalised names, sorted, unique, none of them empty, and `root` alone. */
export function normalizePolicyNames(names: readonly string[]): string[] {
  const unique = new Set(names.map(normalizePolicyName));
  unique.delete("");
  return unique.has(ROOT_POLICY) ? [ROOT_POLICY] : [...unique].sort();
}

/** True when one of `names`, normalised or not, is the root policy. */
export function namesRoot(names: readonly string[]): boolean {
  return names.some((name) => normalizePolicyName(name) === ROOT_POLICY);
}

/** Message for the client that refuses `name` (normalised) as the name of a policy, or null. */
export function policyNameProblem(name: string): string | null {
  if (name === "") return "policy name must not be empty";
  if (name.length > MAX_POLICY_NAME_LENGTH) {
    return `policy name must not be longer than ${MAX_POLICY_NAME_LENGTH} characters`;
  }
  if (hasUnprintable(name)) return "policy name must not contain control characters";
  return null;
}
