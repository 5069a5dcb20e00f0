import { err, ok } from "../../base/result.ts";
import type { AccessRequest } from "../../policy/acl.ts";
import { exact } from "../../wire/exact-fields.ts";
import { isObject } from "../../wire/fields.ts";
import type { OrganizationRecord, TeamRecord } from "../record.ts";

/** Permissions of a team in its organization at HCP Terraform, with the defaults. Stored for clients; no effect here. */
export const ORGANIZATION_ACCESS = {
  "access-secret-teams": false,
  "delegate-policy-overrides": false,
  "manage-agent-pools": false,
  "manage-membership": false,
  "manage-modules": false,
  "manage-organization-access": false,
  "manage-policies": false,
  "manage-policy-overrides": false,
  "manage-projects": false,
  "manage-providers": false,
  "manage-public-modules": false,
  "manage-public-providers": false,
  "manage-run-tasks": false,
  "manage-teams": false,
  "manage-vcs-settings": false,
  "manage-workspaces": false,
  "read-projects": false,
  "read-workspaces": false,
};

/** The flags in a request. Unknown flags are ignored, because the hosted product adds new ones. */
export const GIVEN_ACCESS = exact({ "*": "boolean" }, (value) => {
  const flags: Record<string, boolean> = {};
  for (const name of Object.keys(ORGANIZATION_ACCESS)) {
    const flag = isObject(value) ? value[name] : null;
    if (flag === undefined) continue;
    if (typeof flag !== "boolean") return err("must be an object of flags");
    flags[name] = flag;
  }
  return ok(flags);
});

/** Name of the team that every organization has. */
export const OWNERS = "owners";

/** The owners team of an organization. */
export function ownersOf(organization: OrganizationRecord, teamId: string, now: number): TeamRecord {
  return {
    name: OWNERS,
    owners: true,
    visibility: "organization",
    ssoTeamId: null,
    allowMemberTokenManagement: true,
    organizationAccess: Object.fromEntries(Object.keys(ORGANIZATION_ACCESS).map((name) => [name, true])),
    tokenPolicies: [],
    teamId,
    organization: organization.name,
    organizationId: organization.organizationId,
    createdAt: now,
  };
}

/** True for the owners team and a request about its organization or a resource in it. */
export function manages(team: TeamRecord, { path, alternatePath }: AccessRequest): boolean {
  const own = `organizations/${team.organization}`;
  const asked = alternatePath ?? path;
  return team.owners === true && (asked === own || asked.startsWith(`${own}/`));
}
