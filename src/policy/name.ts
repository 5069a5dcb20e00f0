import { hasUnprintable } from "../base/name.ts";
/** The policy that allows everything; a list of names that holds it is exactly this one. */
export const ROOT_POLICY = "root";

/** Longest name of a policy, in characters. */
export const MAX_POLICY_NAME_LENGTH = 256;

/**
 * The one spelling of a policy name: no blanks around it, lower case. Every name goes through here before it is stored
 * or compared; else ` ROOT` would be a name that no check knows and that a later step turns into `root`.
 */
export function normalizePolicyName(name: string): string {
  return name.trim().toLowerCase();
}

/** A list of policy names in its one form: normalised, without empty names and repeats, sorted, `root` alone. */
export function normalizePolicyNames(names: readonly string[]): string[] {
  const unique = new Set(names.map(normalizePolicyName));
  unique.delete("");
  return unique.has(ROOT_POLICY) ? [ROOT_POLICY] : [...unique].sort();
}

/** True when one of `names`, in whatever spelling, is the root policy. */
export function namesRoot(names: readonly string[]): boolean {
  return names.some((name) => normalizePolicyName(name) === ROOT_POLICY);
}

/** Why `name`, already normalised, can't be the name of a policy, as a phrase for the client; null when it can. */
export function policyNameProblem(name: string): string | null {
  if (name === "") return "policy name must not be empty";
  if (name.length > MAX_POLICY_NAME_LENGTH) {
    return `policy name must not be longer than ${MAX_POLICY_NAME_LENGTH} characters`;
  }
  if (hasUnprintable(name)) return "policy name must not contain control characters";
  return null;
}
