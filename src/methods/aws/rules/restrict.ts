import { canonicalPolicies, type RoleTag } from "./role-tag.ts";

/** The login that a tag is applied to. */
export type TaggedLogin = {
  /** The role's name, in lower case. */
  readonly role: string;
  readonly rolePolicies: readonly string[];
  readonly instanceId: string;
};

/** Whether every policy is one of the role's, in any casing. */
export function isSubsetOfRole(policies: readonly string[], rolePolicies: readonly string[]): boolean {
  const allowed = new Set(canonicalPolicies(rolePolicies));
  return canonicalPolicies(policies).every((policy) => allowed.has(policy));
}

/** Why a genuine tag does not fit a login, or null when it does. Messages are those of the reference's AWS method (login). */
export function tagRefusal(tag: RoleTag, login: TaggedLogin): string | null {
  if (tag.role !== login.role) return "role on the tag is not matching the role supplied";
  if (tag.instanceId !== null && tag.instanceId !== login.instanceId.toLowerCase()) {
    return "role tag is being used by an unauthorized instance";
  }
  if (!isSubsetOfRole(tag.policies ?? [], login.rolePolicies)) {
    return "policies on the role tag must be subset of policies on the role";
  }
  return null;
}
