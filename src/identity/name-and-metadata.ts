import { hasMisleadingBlanks, hasUnprintable, MISLEADING_BLANKS } from "../base/misleading-characters.ts";
import { ok, type Result, refuse } from "../base/result.ts";
import { randomBytes, toHex } from "../crypto/bytes.ts";
import { identityPolicies } from "./identity-policies.ts";
import type { EntityMetadata, EntityWrite } from "./model.ts";

const MAX_NAME_LENGTH = 512;
/** Limits of metadata: number of entries, and length of their names and values. */
const MAX_METADATA = { entries: 64, nameLength: 128, valueLength: 512 };

/** Returns the problem with the name of a `what` ("entity", "alias", "group"), or null. */
export function nameProblem(what: string, name: string): string | null {
  if (name.length > MAX_NAME_LENGTH) return `${what} name must not be longer than ${MAX_NAME_LENGTH} characters`;
  return hasUnprintable(name) ? `${what} name must not contain control characters` : null;
}

/** Returns the problem with a new name of an entity or a group, or null. Names of aliases are not chosen here. */
export function newNameProblem(what: "entity" | "group", name: string): string | null {
  return hasMisleadingBlanks(name) ? `${what} ${MISLEADING_BLANKS}` : null;
}

/** Fields as they were sent; an empty name, `undefined` and null keep the stored value. */
interface CommonFields {
  readonly name: string;
  readonly metadata: EntityMetadata | null;
  readonly policies: readonly string[] | undefined;
}

/** Checks the fields that entities and groups have in common, and returns them as a write has them. */
export function commonWrite(
  what: "entity" | "group",
  { name, metadata, policies: sent }: CommonFields,
): Result<Pick<EntityWrite, "name" | "metadata" | "policies">> {
  const problem = nameProblem(what, name) ?? metadataProblem("metadata", metadata);
  if (problem) return refuse(problem);
  const policies = identityPolicies(sent ?? null);
  return policies.ok ? ok({ name: name || null, metadata, policies: policies.value }) : policies;
}

/** Returns the problem with `metadata`, or null. `field` is its name in the message. */
export function metadataProblem(field: string, metadata: EntityMetadata | null): string | null {
  const entries = Object.entries(metadata ?? {});
  const { entries: most, nameLength, valueLength } = MAX_METADATA;
  if (entries.length > most) return `${field} must not have more than ${most} entries`;
  const fits = entries.every(
    ([name, value]) => name !== "" && name.length <= nameLength && value.length <= valueLength,
  );
  return fits ? null : `${field} must have names of 1 to ${nameLength} and values of up to ${valueLength} characters`;
}

/** Generates a name for a group that was created without one. */
export function generatedGroupName(): string {
  return `group_${toHex(randomBytes(8))}.root`;
}
