import { hasUnprintable } from "../base/name.ts";
import { ok, type Result, refuse } from "../base/result.ts";
import { randomBytes, toHex } from "../crypto/bytes.ts";
import { namesRoot, normalizePolicyNames, policyNameProblem, ROOT_POLICY } from "../policy/name.ts";
import type { Metadata } from "./model.ts";

/** Characters of a name of an entity, an alias or a group. */
const MAX_NAME_LENGTH = 512;
/** Policies of one entity or group. */
const MAX_POLICIES = 256;
/** Entries of metadata, and characters of their names and values. */
const MAX_METADATA = { entries: 64, nameLength: 128, valueLength: 512 };

/** Why `name` can't be a name of `what`, or null. */
export function nameProblem(what: string, name: string): string | null {
  if (name.length > MAX_NAME_LENGTH) return `${what} name must not be longer than ${MAX_NAME_LENGTH} characters`;
  return hasUnprintable(name) ? `${what} name must not contain control characters` : null;
}

/**
 * The policies of an entity or a group in their one form. `root` is refused in every spelling that would become `root`
 * anywhere: a caller that can edit an entity must not be able to make it root (CVE-2024-9180, CVE-2025-54996).
 *
 * @param sent null when absent.
 */
export function identityPolicies(sent: readonly string[] | null): Result<string[] | null> {
  if (sent === null) return ok(null);
  if (namesRoot(sent)) return refuse("policies cannot contain root");
  const policies = normalizePolicyNames(sent);
  if (policies.length > MAX_POLICIES) return refuse(`policies must not be more than ${MAX_POLICIES}`);
  const problem = policies.map(policyNameProblem).find((found) => found !== null);
  return problem ? refuse(problem) : ok(policies);
}

/** Policies as stored. No write accepts `root`: this filter is a second line of defence. */
export function usablePolicies(stored: readonly string[]): string[] {
  return normalizePolicyNames(stored.filter((name) => name !== ROOT_POLICY));
}

/** Why `metadata` can't be stored, or null. */
export function metadataProblem(field: string, metadata: Metadata | null): string | null {
  const entries = Object.entries(metadata ?? {});
  const { entries: most, nameLength, valueLength } = MAX_METADATA;
  if (entries.length > most) return `${field} must not have more than ${most} entries`;
  const fits = entries.every(
    ([name, value]) => name !== "" && name.length <= nameLength && value.length <= valueLength,
  );
  return fits ? null : `${field} must have names of 1 to ${nameLength} and values of up to ${valueLength} characters`;
}

/** A name for a group that was made without one. */
export function generatedGroupName(): string {
  return `group_${toHex(randomBytes(8))}.root`;
}
