import { err, invalid, ok, type Result, refuse } from "../../base/result.ts";
import {
  EXTERNAL_GROUP,
  type GroupAliasRecord,
  type GroupAliasWrite,
  type GroupWrite,
  INTERNAL_GROUP,
  type Written,
} from "../model.ts";
import { generatedGroupName } from "../rules.ts";
import type { GroupAliasStore } from "./group-alias-store.ts";
import { type GroupStore, MAX_GROUP_CHARACTERS } from "./group-store.ts";

/** Refusal of a write that exceeds the total size of all groups. */
const TOO_MANY = invalid(`all groups must not have more than ${MAX_GROUP_CHARACTERS} characters together`);

/**
 * Creates or changes a group. With an id the group must exist. Without one, the name selects an existing group.
 * Messages are the reference's (identity/group).
 *
 * @param now ms.
 */
export function writeGroup(groups: GroupStore, id: string | null, write: GroupWrite, now: number): Result<Written> {
  const byId = id === null ? null : groups.byId(id);
  if (id !== null && !byId) return refuse("group not found from id");
  const byName = write.name === null ? null : groups.byName(write.name);
  if (byId && byName && byName.id !== byId.id) return refuse("group name is already in use");
  const existing = byId ?? byName;
  const groupId = existing?.id ?? crypto.randomUUID();
  if (write.memberGroupIds && !groups.allExist(write.memberGroupIds)) {
    return refuse("member_group_ids holds an id that is no group");
  }
  // Without this check a group could pass its policies on to its own parents.
  if (write.memberGroupIds && groups.members.isPartOf(groupId, write.memberGroupIds)) {
    return refuse("cyclic relationship detected for a group in member_group_ids");
  }
  const type = existing?.type ?? write.type ?? INTERNAL_GROUP;
  if (write.type && write.type !== type) return refuse("group type cannot be changed");
  if (type === EXTERNAL_GROUP) {
    if (write.memberEntityIds) return refuse("member entities can't be set manually for external groups");
    if (write.memberGroupIds) return refuse("member groups can't be set for external groups");
  }
  if (!groups.hasRoomFor(JSON.stringify([write.name, write.metadata, write.policies, write.memberGroupIds]).length)) {
    return err(TOO_MANY);
  }
  const name = write.name ?? existing?.name ?? generatedGroupName();
  groups.write(groupId, name, type, write, now);
  return ok({ id: groupId, name, created: existing === null });
}

/**
 * Creates a group alias, with a new external group when none is given, or changes the alias with the id. Messages are
 * the reference's (identity/group-alias).
 *
 * @param now ms.
 * @returns null when the write changes nothing.
 */
export function writeGroupAlias(
  groups: GroupStore,
  groupAliases: GroupAliasStore,
  id: string | null,
  write: GroupAliasWrite,
  now: number,
): Result<GroupAliasRecord | null> {
  const before = id === null ? null : groupAliases.byId(id);
  if (id !== null && !before) return refuse("invalid group alias ID");
  const { name, mountAccessor } = write;
  if (name === "") return refuse("missing alias name");
  if (mountAccessor === "") return refuse("missing mount_accessor");
  const sameGroup = write.groupId === null || write.groupId === before?.groupId;
  if (before?.name === name && before.mountAccessor === mountAccessor && sameGroup) return ok(null);
  if (write.groupId !== null) {
    const group = groups.byId(write.groupId);
    if (!group) return refuse("invalid group ID given in 'canonical_id'");
    if (group.type !== EXTERNAL_GROUP) return refuse("alias can't be set on an internal group");
  }
  const taken = groupAliases.byName(mountAccessor, name);
  if (taken && taken.id !== before?.id) {
    return refuse("combination of mount and group alias name is already in use");
  }
  if (!groups.hasRoomFor(name.length)) return err(TOO_MANY);
  const groupId = write.groupId ?? before?.groupId ?? crypto.randomUUID();
  if (!groups.byId(groupId)) {
    groups.write(groupId, generatedGroupName(), EXTERNAL_GROUP, NOTHING, now);
  }
  // Members come from logins at the mount of the alias. After a change of its name or mount the old members are
  // removed.
  for (const changed of new Set([groupId, before?.groupId ?? groupId])) groups.members.replaceEntities(changed, []);
  const alias = { id: before?.id ?? crypto.randomUUID(), groupId, name, mountAccessor };
  const record = { ...alias, createdAt: before?.createdAt ?? now, updatedAt: now };
  groupAliases.write(record);
  groups.noteChange();
  return ok(record);
}

const NOTHING = { metadata: null, policies: null, memberEntityIds: null, memberGroupIds: null } as const;
