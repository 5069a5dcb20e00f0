import { nameKey } from "../base/case-folding.ts";
import { hasUnprintable } from "../base/misleading-characters.ts";

/** The policy that allows everything. A normalised list of names that contains it contains no other name. */
export const ROOT_POLICY = "root";

/** Longest name of a policy, in characters. */
export const MAX_POLICY_NAME_LENGTH = 256;

/**
 * Normalises a policy name: removes blanks around it and makes it lower case. Every name is normalised before it is
 * stored or compared. Otherwise ` ROOT` would pass the checks for `root`, and a later step would turn it into `root`.
 */
export function normalizePolicyName(name: string): string {
  return nameKey(name.trim());
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

/** The policy that tokens get unless they are made without it. Operators may change its text, but not delete it. */
export const DEFAULT_POLICY = "default";

/** The policy of the token that holds a wrapped answer. */
export const RESPONSE_WRAPPING_POLICY = "response-wrapping";

/** Message that refuses a write of the policy `name` (normalised), or null. From the reference, sys/policies/acl. */
export function policyWriteRefusal(name: string): string | null {
  return isFixed(name) ? `cannot update ${JSON.stringify(name)} policy` : null;
}

/** Message that refuses to delete the policy `name` (normalised), or null. From the reference, sys/policies/acl. */
export function policyDeleteRefusal(name: string): string | null {
  if (name === DEFAULT_POLICY) return "cannot delete default policy";
  return isFixed(name) ? `cannot delete ${JSON.stringify(name)} policy` : null;
}

/**
 * Message that refuses to assign `names` (normalised) to a token, or null. Does not check who may assign `root`. From
 * the reference, sys/policies/acl.
 */
export function policyAssignRefusal(names: readonly string[]): string | null {
  return names.includes(RESPONSE_WRAPPING_POLICY)
    ? `cannot assign policy ${JSON.stringify(RESPONSE_WRAPPING_POLICY)}`
    : null;
}

/** True for the policy that listings leave out, although it can be read by name. */
export function isHiddenPolicy(name: string): boolean {
  return name === RESPONSE_WRAPPING_POLICY;
}

function isFixed(name: string): boolean {
  return name === ROOT_POLICY || name === RESPONSE_WRAPPING_POLICY;
}
