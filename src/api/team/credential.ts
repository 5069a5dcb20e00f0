import type { Caller } from "../../auth/caller.ts";
import type { CredentialFormat, CredentialOrigin, RegisteredCaller } from "../../auth/credential.ts";
import type { Ms } from "../../base/clock.ts";
import { type AccessRequest, REFUSED, type Verdict } from "../../policy/acl.ts";
import { isDenied } from "../../policy/evaluate.ts";
import type { Installation } from "../../system/installation.ts";
import { isHolderRoute, looksLikeTeamToken, readTeamToken, TEAM_TOKENS_WITHIN } from "../../team/ids.ts";
import type { TeamRecord, TeamToken, TeamWithToken } from "../../team/record.ts";
import { organizationTokenMay } from "../../team/rules/organization-token-access.ts";
import { manages } from "../../team/rules/owners.ts";
import { teamAt } from "../../team/stubs.ts";
import { PLAIN_RECORD, type TokenRecord } from "../../token/record.ts";

const TEAM = "team";
const ORGANIZATION = "organization";

/** How tokens of teams and of organizations are read. */
export const TEAM_TOKENS: CredentialFormat = {
  matches: looksLikeTeamToken,
  within: TEAM_TOKENS_WITHIN,
  part: /^\w*\.atlasv1\.\w{8,}$/,
  async read(keys, text) {
    const credential = await readTeamToken(keys, text);
    if (!credential) return null;
    const { route, verifier } = credential;
    return {
      kind: "registered",
      type: isHolderRoute(route) ? ORGANIZATION : TEAM,
      text,
      async owner(env) {
        const team = await teamAt(env, route).show();
        return team && ownerOf(team);
      },
      async ended(env) {
        const found = await teamAt(env, route).endedToken(verifier);
        if (!found) return null;
        const { token, end } = found;
        const { tokenId: accessor, createdAt, expiresAt } = token;
        return { accessor, ...originOf(token), createdAt, expiresAt, ...end, by: end.by?.name ?? "" };
      },
      async authenticate(env, purpose) {
        const found = await teamAt(env, route).authenticate(verifier, purpose);
        return found && callerWith(found);
      },
    };
  },
};

const OWN_READ: Verdict = { ...REFUSED, allowed: true };

/** For requests about an organization by its owners or its own token. With sudo, they could give a team any policy. */
const MANAGE: Verdict = { ...OWN_READ, create: true, update: true };

/** The caller with a token of a team or of an organization. */
export function callerWith(found: TeamWithToken): TeamCaller | OrganizationCaller {
  return found.team.holder ? new OrganizationCaller(found) : new TeamCaller(found);
}

/** True for a caller with a token of a team or of an organization. */
export function isOfTeam(caller: Caller): caller is TeamCaller | OrganizationCaller {
  return caller instanceof TeamCaller || caller instanceof OrganizationCaller;
}

/** The holder of the caller's token, if it is one of an organization or of its audit trails, else null. */
export function auditedBy(caller: Caller): TeamRecord | null {
  return caller instanceof OrganizationCaller ? caller.team : null;
}

/**
 * A caller with a team's token. It has the policies of its team and no others. It may also read itself and its team, and
 * the owners' token may manage the organization unless a `deny` holds.
 */
class TeamCaller implements RegisteredCaller {
  readonly kind = "registered";
  readonly type = TEAM;
  readonly record: TokenRecord;
  readonly accessor: string;
  readonly team: TeamRecord;
  readonly token: TeamToken;
  readonly origin: CredentialOrigin;
  readonly ownRights =
    "The token of a team may look at itself and its team, and that of the owners may manage their organization.";

  constructor({ team, token }: TeamWithToken) {
    this.team = team;
    this.token = token;
    this.record = tokenRecordOf(team, token);
    this.accessor = token.tokenId;
    this.origin = originOf(token);
  }

  ownVerdict({ policies }: Installation, access: AccessRequest, now: Ms): Verdict | null {
    if (this.#looksAtItself(access)) return OWN_READ;
    if (!this.manages(access)) return null;
    return isDenied(policies.aclFor(this.team.tokenPolicies, null, now), access, now) ? null : MANAGE;
  }

  /** True for a request by the owners about their organization. */
  manages(access: AccessRequest): boolean {
    return manages(this.team, access);
  }

  #looksAtItself({ operation, path }: AccessRequest): boolean {
    if (operation !== "read") return false;
    const { teamId } = this.team;
    const own = [
      ...OWN_PATHS,
      `teams/${teamId}`,
      `teams/${teamId}/authentication-token`,
      `authentication-tokens/${teamId}`,
      `authentication-tokens/${this.token.tokenId}`,
    ];
    return own.includes(path);
  }
}

/** A caller with a token of an organization itself. It has no policies, see `organizationTokenMay`. */
class OrganizationCaller implements RegisteredCaller {
  readonly kind = "registered";
  readonly type = ORGANIZATION;
  readonly record: TokenRecord;
  readonly accessor: string;
  /** The holder of the token. */
  readonly team: TeamRecord;
  readonly token: TeamToken;
  readonly origin: CredentialOrigin;
  readonly ownRights =
    "The token of an organization may look at itself and at the audit trail, and manage the teams of its organization, but " +
    "not the owners; that of its audit trails may only read these.";

  constructor({ team, token }: TeamWithToken) {
    this.team = team;
    this.token = token;
    this.record = {
      ...tokenRecordOf(team, token),
      meta: { ...ownerOf(team), kind: token.kind ?? "" },
      displayName: `${token.kind === "audit_trails" ? "audit-trails" : "organization"}-${team.organization}`,
      path: `organizations/${team.organization}/authentication-token`,
    };
    this.accessor = token.tokenId;
    this.origin = originOf(token);
  }

  ownVerdict(_installation: Installation, access: AccessRequest): Verdict | null {
    const { operation, path } = access;
    const looksAtItself = this.token.kind !== "audit_trails" && operation === "read" && OWN_PATHS.includes(path);
    if (looksAtItself) return OWN_READ;
    return this.manages(access) ? MANAGE : null;
  }

  /** True for a request that the token may make. */
  manages(access: AccessRequest): boolean {
    return organizationTokenMay(this.token.kind, this.team, access);
  }
}

/** The paths by which a token looks at itself. */
const OWN_PATHS = ["account/details", "auth/token/lookup-self"];

function originOf({ description, createdBy }: TeamToken): CredentialOrigin {
  return { description: description ?? "", madeBy: createdBy.name };
}

function ownerOf({ organization, name, teamId, holder }: TeamRecord): Record<string, string> {
  return holder ? { organization } : { organization, team: name, team_id: teamId };
}

function tokenRecordOf(team: TeamRecord, token: TeamToken): TokenRecord {
  return {
    ...PLAIN_RECORD,
    policies: team.tokenPolicies,
    meta: ownerOf(team),
    displayName: `team-${team.name}`,
    path: `teams/${team.teamId}/authentication-token`,
    createdAt: token.createdAt,
    creationTtl: token.expiresAt === null ? 0 : Math.floor((token.expiresAt - token.createdAt) / 1000),
  };
}
