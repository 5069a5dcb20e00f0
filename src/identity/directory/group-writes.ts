import { type Failure, invalid } from "../../base/errors.ts";
import { err, ok, type Result } from "../../base/result.ts";
import { EXTERNAL_GROUP, type GroupWrite, INTERNAL_GROUP, type Written } from "../model.ts";
import { generatedGroupName } from "../rules.ts";
import { type GroupStore, MAX_GROUP_CHARACTERS } from "./group-store.ts";

/** The refusal of a write for which there is no room. */
export const TOO_MANY = invalid(`all groups must not have more than ${MAX_GROUP_CHARACTERS} characters together`);

/**
 * Creates or changes a group. With an id it must exist; a name finds the group that has it. Messages are the reference's
 * (identity/group).
 *
 * @param now ms.
 */
export function writeGroup(
  groups: GroupStore,
  id: string | null,
  write: GroupWrite,
  now: number,
): Result<Written, Failure> {
  const byId = id === null ? null : groups.byId(id);
  if (id !== null && !byId) return err(invalid("group not found from id"));
  const byName = write.name === null ? null : groups.byName(write.name);
  if (byId && byName && byName.id !== byId.id) return err(invalid("group name is already in use"));
  const existing = byId ?? byName;
  const groupId = existing?.id ?? crypto.randomUUID();
  if (write.memberGroupIds && !groups.allExist(write.memberGroupIds)) {
    return err(invalid("member_group_ids holds an id that is no group"));
  }
  // Without this check a group could pass its policies on to its own parents.
  if (write.memberGroupIds && groups.members.isPartOf(groupId, write.memberGroupIds)) {
    return err(invalid("cyclic relationship detected for a group in member_group_ids"));
  }
  const type = existing?.type ?? write.type ?? INTERNAL_GROUP;
  if (write.type && write.type !== type) return err(invalid("group type cannot be changed"));
  if (type === EXTERNAL_GROUP) {
    if (write.memberEntityIds) return err(invalid("member entities can't be set manually for external groups"));
    if (write.memberGroupIds) return err(invalid("member groups can't be set for external groups"));
  }
  if (!groups.hasRoomFor(JSON.stringify([write.name, write.metadata, write.policies, write.memberGroupIds]).length)) {
    return err(TOO_MANY);
  }
  const name = write.name ?? existing?.name ?? generatedGroupName();
  groups.write(groupId, name, type, write, now);
  return ok({ id: groupId, name, created: existing === null });
}
