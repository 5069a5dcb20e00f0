import type { Ms } from "../../base/clock.ts";
import type { AccessRequest } from "../../policy/acl.ts";
import type { OrganizationRecord, OrganizationTokenKind, TeamRecord } from "../record.ts";
import { DEFAULT_SETTINGS } from "./team-settings.ts";

/** The holder of an organization's tokens. It is stored as a team, has no policies and is in no list. */
export function tokenHolderOf(
  organization: OrganizationRecord,
  teamId: string,
  ownersTeamId: string,
  now: Ms,
): TeamRecord {
  return {
    ...DEFAULT_SETTINGS,
    name: "",
    holder: { ownersTeamId },
    teamId,
    organization: organization.name,
    organizationId: organization.organizationId,
    createdAt: now,
  };
}

const AUDIT_TRAIL = "organization/audit-trail";

/**
 * What the token of an organization of this kind may do: read its organization and its audit trail, manage its teams
 * with their tokens and the organization's own tokens. It may not change the owners and their tokens, because the owners
 * may do more than it. A token of audit trails may read these and nothing else.
 */
export function organizationTokenMay(
  kind: OrganizationTokenKind | undefined,
  { organization, holder }: TeamRecord,
  { operation, path, alternatePath }: AccessRequest,
): boolean {
  if (kind === undefined || !holder) return false;
  const reads = operation === "read" || operation === "head";
  if (path === AUDIT_TRAIL) return reads;
  if (kind === "audit_trails") return false;
  const own = `organizations/${organization}`;
  const asked = alternatePath ?? path;
  const isIn = (place: string) => asked === place || asked.startsWith(`${place}/`);
  if (reads && [own, `${own}/team-tokens`, `${own}/token-ttl-policies`].includes(asked)) return true;
  if (isIn(`${own}/authentication-token`) || isIn(`${own}/authentication-tokens`)) return true;
  return isIn(`${own}/teams`) && (reads || !isIn(`${own}/teams/${holder.ownersTeamId}`));
}
