import { callerRecord } from "../../auth/caller.ts";
import type { CallContext } from "../../auth/route.ts";
import { currentTime } from "../../base/clock.ts";
import { aclOfToken } from "../../identity/standing.ts";
import type { Operation } from "../../policy/acl.ts";
import { evaluateAcl } from "../../policy/evaluate.ts";
import { canonicalPathOf } from "../../team/canonical-path.ts";
import type { OrganizationRecord, TeamRecord } from "../../team/record.ts";
import { manages } from "../../team/rules/organization-access.ts";

/** What a caller's policies allow. */
export type May = (operation: Operation, path: string, alternatePath?: string) => boolean;

/** Evaluates the policies of the caller, for answers that show what it may do. */
export async function mayOf({ env, installation, caller }: CallContext): Promise<May> {
  const acl = await aclOfToken(env, installation, callerRecord(caller));
  const now = currentTime();
  return (operation, path, alternatePath) => {
    const access = { operation, path, ...(alternatePath !== undefined && { alternatePath }) };
    if (!acl.ok) return false;
    return (caller.kind === "team" && manages(caller.team, access)) || evaluateAcl(acl.value, access, now).allowed;
  };
}

/** What a caller may do with a team. Its members can't be changed: it has none. */
export function teamPermissions(may: May, team: TeamRecord): Record<string, boolean> {
  const canDestroy = !team.owners && may("delete", `teams/${team.teamId}`, canonicalPathOf(team, ""));
  return { "can-update-membership": false, "can-destroy": canDestroy };
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
