import { type Caller, callerRecord } from "../../auth/caller.ts";
import type { Keys } from "../../crypto/key-ring.ts";
import { userIdOf } from "../../team/ids.ts";
import type { Author } from "../../team/record.ts";

/** The caller as the author of what it makes: a team, or the user that stands for its entity or its display name. */
export async function authorOf(keys: Keys, caller: Caller): Promise<Author> {
  if (caller.kind === "team") return { type: "teams", id: caller.team.teamId, name: caller.team.name };
  const { entityId, displayName } = callerRecord(caller);
  const identity = entityId === "" ? `name\0${displayName}` : `entity\0${entityId}`;
  return { type: "users", id: await userIdOf(keys, identity), name: displayName };
}
