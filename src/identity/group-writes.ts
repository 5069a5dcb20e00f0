import { currentTime } from "../base/clock.ts";
import { changedOnce } from "../base/lost-call-retry.ts";
import { type Result, refuse } from "../base/result.ts";
import type { IdentityEnv } from "./env.ts";
import type { GroupWrite, Written } from "./model.ts";
import { askHomes, identityOf } from "./stubs.ts";

/** Creates or changes a group, see `Identity.writeGroup`. Checks first that its members exist. */
export async function writeGroup(env: IdentityEnv, id: string | null, write: GroupWrite): Promise<Result<Written>> {
  const ids = write.memberEntityIds ?? [];
  const existing = new Set(await askHomes(env, ids, (home, here) => home.existing(here)));
  if (!ids.every((member) => existing.has(member))) return refuse("member_entity_ids holds an id that is no entity");
  const now = currentTime();
  return changedOnce(env, (attempt) => identityOf(env).writeGroup(id, write, now, attempt));
}
