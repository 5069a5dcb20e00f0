import type { GroupRecord, GroupWrite } from "./model.ts";

/**
 * Returns why the members of an external group can't be written, or null: logins at the mount of its alias set them. A
 * write that omits the members or repeats them is accepted, as a client may write a group back as it read it. Messages
 * are the reference's (identity/group).
 */
export function externalMembersProblem(
  write: Pick<GroupWrite, "memberEntityIds" | "memberGroupIds">,
  { memberEntityIds: held }: Pick<GroupRecord, "memberEntityIds">,
): string | null {
  if (!keepsMembers(write.memberEntityIds, held)) return "member entities can't be set manually for external groups";
  return keepsMembers(write.memberGroupIds, []) ? null : "member groups can't be set for external groups";
}

function keepsMembers(sent: readonly string[] | null, held: readonly string[]): boolean {
  const ids = new Set(sent);
  return sent === null || (ids.size === held.length && held.every((id) => ids.has(id)));
}
