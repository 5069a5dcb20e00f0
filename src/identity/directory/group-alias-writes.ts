import { type Failure, invalid } from "../../base/errors.ts";
import { err, ok, type Result } from "../../base/result.ts";
import { EXTERNAL_GROUP, type GroupAliasRecord, type GroupAliasWrite } from "../model.ts";
import { generatedGroupName } from "../rules.ts";
import type { GroupAliasStore } from "./group-alias-store.ts";
import type { GroupStore } from "./group-store.ts";
import { TOO_MANY } from "./group-writes.ts";

/**
 * Creates a group alias, with a new external group when none is named, or changes the one with the id. Messages are the reference's (identity/group-alias).
 *
 * @param now ms.
 * @returns null when nothing changes.
 */
export function writeGroupAlias(
  groups: GroupStore,
  groupAliases: GroupAliasStore,
  id: string | null,
  write: GroupAliasWrite,
  now: number,
): Result<GroupAliasRecord | null, Failure> {
  const before = id === null ? null : groupAliases.byId(id);
  if (id !== null && !before) return err(invalid("invalid group alias ID"));
  const { name, mountAccessor } = write;
  if (name === "") return err(invalid("missing alias name"));
  if (mountAccessor === "") return err(invalid("missing mount_accessor"));
  const sameGroup = write.groupId === null || write.groupId === before?.groupId;
  if (before?.name === name && before.mountAccessor === mountAccessor && sameGroup) return ok(null);
  if (write.groupId !== null) {
    const group = groups.byId(write.groupId);
    if (!group) return err(invalid("invalid group ID given in 'canonical_id'"));
    if (group.type !== EXTERNAL_GROUP) return err(invalid("alias can't be set on an internal group"));
  }
  const taken = groupAliases.byName(mountAccessor, name);
  if (taken && taken.id !== before?.id) {
    return err(invalid("combination of mount and group alias name is already in use"));
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
