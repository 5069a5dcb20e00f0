import type { CredentialFormat, RegisteredCaller } from "../../auth/credential.ts";
import type { Ms } from "../../base/clock.ts";
import { type AccessRequest, REFUSED, type Verdict } from "../../policy/acl.ts";
import { isDenied } from "../../policy/evaluate.ts";
import type { Installation } from "../../system/installation.ts";
import { teamAt } from "../../team/find.ts";
import { looksLikeTeamToken, readTeamToken } from "../../team/ids.ts";
import type { TeamRecord, TeamToken, TeamWithToken } from "../../team/record.ts";
import { manages } from "../../team/rules/settings.ts";
import { PLAIN_RECORD, type TokenRecord } from "../../token/record.ts";

const TYPE = "team";

/** How tokens of teams are read. */
export const TEAM_TOKENS: CredentialFormat = {
  matches: looksLikeTeamToken,
  async read(keys, text) {
    const credential = await readTeamToken(keys, text);
    if (!credential) return null;
    const { route, verifier } = credential;
    return {
      kind: "registered",
      type: TYPE,
      text,
      async owner(env) {
        const team = await teamAt(env, route).show();
        return team && ownerOf(team);
      },
      async authenticate(env, purpose) {
        const found = await teamAt(env, route).authenticate(verifier, purpose);
        return found && new TeamCaller(found);
      },
    };
  },
};

const OWN_READ: Verdict = { ...REFUSED, allowed: true };

/** For the owners team in its organization. Without sudo: with it the owners could give their own token any policy. */
const MANAGE: Verdict = { ...OWN_READ, create: true, update: true };

/**
 * A caller with a team's token. It has the policies of its team and no others. It may also read itself and its team, and
 * the owners' token may manage the organization unless a `deny` holds.
 */
export class TeamCaller implements RegisteredCaller {
  readonly kind = "registered";
  readonly type = TYPE;
  readonly record: TokenRecord;
  readonly accessor: string;
  readonly team: TeamRecord;
  readonly token: TeamToken;
  readonly ownRights =
    "The token of a team may look at itself and its team, and that of the owners may manage their organization.";

  constructor({ team, token }: TeamWithToken) {
    this.team = team;
    this.token = token;
    this.record = tokenRecordOf(team, token);
    this.accessor = token.tokenId;
  }

  ownVerdict({ policies }: Installation, access: AccessRequest, now: Ms): Verdict | null {
    if (this.#looksAtItself(access)) return OWN_READ;
    if (!manages(this.team, access)) return null;
    return isDenied(policies.aclFor(this.team.tokenPolicies, null, now), access, now) ? null : MANAGE;
  }

  #looksAtItself({ operation, path }: AccessRequest): boolean {
    if (operation !== "read") return false;
    const { teamId } = this.team;
    const own = [
      "account/details",
      "auth/token/lookup-self",
      `teams/${teamId}`,
      `teams/${teamId}/authentication-token`,
      `authentication-tokens/${teamId}`,
      `authentication-tokens/${this.token.tokenId}`,
    ];
    return own.includes(path);
  }
}

function ownerOf({ organization, name, teamId }: TeamRecord): Record<string, string> {
  return { organization, team: name, team_id: teamId };
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
