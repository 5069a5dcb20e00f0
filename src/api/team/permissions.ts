import { callerRecord } from "../../auth/caller.ts";
import type { CallContext } from "../../auth/route.ts";
import { currentTime } from "../../base/clock.ts";
import { aclOfHolder } from "../../identity/access.ts";
import type { Operation } from "../../policy/acl.ts";
import type { OrganizationRecord, TeamRecord } from "../../team/record.ts";

/** What a caller's policies allow. */
export type May = (operation: Operation, path: string) => boolean;

/** Asks the policies of the caller, for answers that show what it may do. */
export async function mayOf({
  env,
  installation,
  caller,
}: Pick<CallContext<unknown, unknown>, "env" | "installation" | "caller">): Promise<May> {
  const acl = await aclOfHolder(env, installation, callerRecord(caller));
  const now = currentTime();
  return (operation, path) => acl.ok && acl.value.check({ operation, path }, now).allowed;
}

/** What a caller may do with a team. Nobody can change its members: it has none. */
export function teamPermissions(may: May, team: TeamRecord): Record<string, boolean> {
  return { "can-update-membership": false, "can-destroy": may("delete", `teams/${team.teamId}`) };
}

/** What a caller may do with an organization. */
export function organizationPermissions(may: May, organization: OrganizationRecord): Record<string, boolean> {
  const path = `organizations/${organization.name}`;
  return {
    "can-traverse": may("read", path),
    "can-update": may("patch", path),
    "can-destroy": may("delete", path),
    "can-create-team": may("update", `${path}/teams`),
  };
}
