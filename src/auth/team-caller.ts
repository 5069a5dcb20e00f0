import type { Env } from "../env.ts";
import { type AccessRequest, REFUSED, type Verdict } from "../policy/acl.ts";
import { isDenied } from "../policy/evaluate.ts";
import type { Installation } from "../system/installation.ts";
import { isEndedSince } from "../system/watermarks.ts";
import { teamAt } from "../team/find.ts";
import type { TeamCredential } from "../team/ids.ts";
import type { TeamWithToken } from "../team/record.ts";
import { manages } from "../team/rules/settings.ts";
import { auditAuth } from "../token/audit-auth.ts";
import { PLAIN_RECORD, type TokenRecord } from "../token/record.ts";
import type { AuditAuth } from "../wire/audit.ts";

/** A team that makes a request with its token. */
export interface TeamCaller extends TeamWithToken {
  readonly kind: "team";
  readonly record: TokenRecord;
  readonly accessor: string;
}

/** Verdict on the paths that every team token may read: its own look-up and that of its team. */
const OWN_READ: Verdict = { ...REFUSED, allowed: true };

/**
 * Verdict for the token of the owners team in its organization. Without sudo, which setting a team's policies needs:
 * otherwise the owners could give their own token any policy.
 */
const MANAGE: Verdict = { ...OWN_READ, create: true, update: true };

/**
 * Authenticates a team token. Returns null when it is not valid now.
 *
 * @param purpose "use" updates the token's time of last use; "look-up" (by another caller) does not.
 */
export async function authenticateTeam(
  env: Env,
  { watermarks }: Pick<Installation, "watermarks">,
  credential: TeamCredential,
  purpose: "use" | "look-up",
): Promise<TeamCaller | null> {
  const found = await teamAt(env, credential.route).authenticate(credential.verifier, purpose);
  if (!found || isEndedSince(watermarks, found.token.createdAt)) return null;
  return { kind: "team", ...found, record: tokenRecordOf(found), accessor: found.token.tokenId };
}

/**
 * Returns the verdict on a request that needs no policy: a team token may read itself and its team, and the owners' token
 * may manage the organization, unless a rule with `deny` in a policy of the team says otherwise. Else null.
 */
export function verdictOfTeam(
  installation: Installation,
  caller: TeamCaller,
  access: AccessRequest,
  now: number,
): Verdict | null {
  if (looksAtItself(caller, access)) return OWN_READ;
  const { team } = caller;
  if (!manages(team, access)) return null;
  return isDenied(installation.policies.aclFor(team.tokenPolicies, null, now), access, now) ? null : MANAGE;
}

function looksAtItself({ team, token }: TeamCaller, { operation, path }: AccessRequest): boolean {
  if (operation !== "read") return false;
  const own = [
    "account/details",
    "auth/token/lookup-self",
    `teams/${team.teamId}`,
    `teams/${team.teamId}/authentication-token`,
    `authentication-tokens/${team.teamId}`,
    `authentication-tokens/${token.tokenId}`,
  ];
  return own.includes(path);
}

/** Returns what the audit log says about the token of a team. */
export function auditTeamToken(found: TeamWithToken): AuditAuth {
  return auditAuth(tokenRecordOf(found), found.token.tokenId, "team");
}

function tokenRecordOf({ team, token }: TeamWithToken): TokenRecord {
  return {
    ...PLAIN_RECORD,
    policies: team.tokenPolicies,
    meta: { organization: team.organization, team: team.name, team_id: team.teamId },
    displayName: `team-${team.name}`,
    path: `teams/${team.teamId}/authentication-token`,
    createdAt: token.createdAt,
    creationTtl: token.expiresAt === null ? 0 : Math.floor((token.expiresAt - token.createdAt) / 1000),
  };
}
