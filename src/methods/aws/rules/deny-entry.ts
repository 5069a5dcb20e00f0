import { view } from "../../../wire/view.ts";
import type { CloudRole } from "./role.ts";
import { readTagValue } from "./tag-value.ts";

/** A role tag that may not be used any more. Times in ms. */
export interface DenyEntry {
  readonly createdAt: number;
  /** When the last token that the tag gave has ended. The tag itself never ends. */
  readonly expiresAt: number;
  /** The id of the role whose key signed the tag. */
  readonly roleId: string;
}

/**
 * Whether a denied tag could give a token again without its entry: while the role whose key signed it exists. A role
 * that is created again under the same name has another key.
 */
export function isStillGenuine(
  tag: string,
  entry: DenyEntry,
  roleNamed: (name: string) => Pick<CloudRole, "roleId"> | null,
): boolean {
  const read = readTagValue(tag);
  const role = read.ok ? roleNamed(read.value.tag.role) : null;
  return role !== null && role.roleId === entry.roleId;
}

/** What a read shows. */
export const DENY_VIEW = view<DenyEntry>({
  creation_time: ["string", (entry) => new Date(entry.createdAt).toISOString()],
  expiration_time: ["string", (entry) => new Date(entry.expiresAt).toISOString()],
});
