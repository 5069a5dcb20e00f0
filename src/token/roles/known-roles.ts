import { currentTime } from "../../base/clock.ts";
import { ExpiringCache } from "../../base/expiring-cache.ts";
import type { Env } from "../../env.ts";
import { snapshotMaxAgeMs } from "../../system/snapshot-age.ts";
import type { TokenRole } from "../role.ts";
import { tokenRoles } from "./token-roles.ts";

/** Roles in one generation of the cache of an isolate. */
const MAX_ROLES = 1024;

/** What this isolate knows. A role that is not there is not cached: names of such ones could be any. */
const known = new ExpiringCache<TokenRole>(MAX_ROLES);
/** Counts the writes of this isolate: an answer that was under way during one may be older than it and is not cached. */
let writes = 0;

/** The token role as this isolate knows it, no older than POLICY_CACHE_SECONDS; null when there is none. */
export async function loadRole(env: Env, name: string): Promise<TokenRole | null> {
  const now = currentTime();
  const before = known.get(name, now);
  if (before) return before;
  const writesBefore = writes;
  const role = await tokenRoles(env).read(name);
  if (role && writes === writesBefore) known.set(name, role, now + snapshotMaxAgeMs(env));
  return role;
}

/** Makes this isolate read a role anew. Called after every own write of it, so that the writer sees it at once. */
export function forgetRole(name: string): void {
  writes++;
  known.forget(name);
}
