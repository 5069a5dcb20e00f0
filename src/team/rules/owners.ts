import type { Ms } from "../../base/clock.ts";
import type { AccessRequest } from "../../policy/acl.ts";
import type { OrganizationRecord, TeamRecord } from "../record.ts";
import { DEFAULT_SETTINGS, ORGANIZATION_ACCESS } from "./team-settings.ts";

/** Name of the team that every organization has. */
export const OWNERS = "owners";

/** The owners team of a new organization: with all access to it, and no policies. */
export function ownersOf(organization: OrganizationRecord, teamId: string, now: Ms): TeamRecord {
  return {
    ...DEFAULT_SETTINGS,
    name: OWNERS,
    owners: true,
    visibility: "organization",
    organizationAccess: Object.fromEntries(Object.keys(ORGANIZATION_ACCESS).map((name) => [name, true])),
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
