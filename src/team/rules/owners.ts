import type { AccessRequest } from "../../policy/acl.ts";
import type { OrganizationRecord, TeamRecord } from "../record.ts";
import { ORGANIZATION_ACCESS } from "./organization-access.ts";

/** The team that each organization has from its creation. */
export const OWNERS = "owners";

/** The owners of an organization. */
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

/** True when the team is the owners team and the request is about its organization, or about a resource of it. */
export function manages(team: TeamRecord, { path, alternatePath }: AccessRequest): boolean {
  const own = `organizations/${team.organization}`;
  const asked = alternatePath ?? path;
  return team.owners === true && (asked === own || asked.startsWith(`${own}/`));
}
