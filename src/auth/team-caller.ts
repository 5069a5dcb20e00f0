import { currentTime } from "../base/clock.ts";
import { err, ok, type Result, UNAUTHENTICATED } from "../base/result.ts";
import type { Env } from "../env.ts";
import { type AccessRequest, REFUSED, type Verdict } from "../policy/acl.ts";
import { isDenied } from "../policy/evaluate.ts";
import type { Trace } from "../policy/trace.ts";
import type { Installation } from "../system/installation.ts";
import { isEndedSince } from "../system/watermarks.ts";
import { teamAt } from "../team/find.ts";
import { readTeamToken, type TeamCredential } from "../team/ids.ts";
import type { TeamWithToken } from "../team/record.ts";
import { manages } from "../team/rules/organization-access.ts";
import { auditAuth } from "../token/audit-auth.ts";
import { decide } from "../token/decide.ts";
import { PLAIN_RECORD, type TokenRecord } from "../token/record.ts";
import type { AuditAuth, AuditNotes } from "../wire/audit.ts";

/** A team that makes a request with its token. */
export interface TeamCaller extends TeamWithToken {
  readonly kind: "team";
  readonly record: TokenRecord;
}

/** Paths that every team token may use: look-ups of itself and of its team. */
const OWN_READ: Verdict = { ...REFUSED, allowed: true };

/**
 * The rules for the token of the owners team in its organization. No sudo: the policies of a team can only be set by
 * others.
 */
const MANAGE: Verdict = { ...OWN_READ, create: true, update: true };

/**
 * The team of a token, if the token is good now.
 *
 * @param purpose a "use" counts for the time of the last use, a "look-up" by somebody else does not.
 */
export async function authenticateTeam(
  env: Env,
  { watermarks }: Pick<Installation, "watermarks">,
  credential: TeamCredential,
  purpose: "use" | "look-up",
): Promise<TeamCaller | null> {
  const found = await teamAt(env, credential.route).authenticate(credential.verifier, purpose);
  if (!found || isEndedSince(watermarks, found.token.createdAt)) return null;
  return { kind: "team", ...found, record: tokenRecordOf(found) };
}

/**
 * Authorises a request by a team token. It has the policies of the team and no others, and may besides look at itself and
 * its team; the owners' may manage their organization.
 */
export async function authorizeTeam(
  env: Env,
  installation: Installation,
  credential: TeamCredential,
  access: AccessRequest,
): Promise<Result<{ readonly caller: TeamCaller; readonly verdict: Verdict | null }>> {
  const caller = await authenticateTeam(env, installation, credential, "use");
  if (!caller) return err(UNAUTHENTICATED);
  const decided = decideTeam(installation, caller, access);
  return decided.ok ? ok({ caller, verdict: decided.value }) : decided;
}

/** Decides about a request of a team token that was found good. See `decide`. */
export function decideTeam(
  installation: Installation,
  caller: TeamCaller,
  access: AccessRequest,
  trace?: Trace,
): Result<Verdict | null> {
  if (looksAtItself(caller, access)) return ok(OWN_READ);
  if (manages(caller.team, access) && !isDeniedToTeam(installation, caller, access)) return ok(MANAGE);
  const facts = { installation, entity: ok(null), now: currentTime() };
  return decide(caller.record, { access, clientAddress: null }, facts, trace);
}

/** True when a `deny` in a policy of the team decides about the path. */
function isDeniedToTeam(installation: Installation, { team }: TeamCaller, access: AccessRequest): boolean {
  const now = currentTime();
  return isDenied(installation.aclFor(team.tokenPolicies, null, now), access, now);
}

/** What other Workers learn about a team token. Times in ms since 1970. */
export interface TeamTokenInfo {
  readonly teamId: string;
  readonly teamName: string;
  readonly organization: string;
  readonly tokenId: string;
  readonly policies: readonly string[];
  readonly createdAt: number;
  /** null: never. */
  readonly expiresAt: number | null;
}

/** The team of a team token; null for every string that is not a valid one. Counts as a use of the token. */
export async function lookupTeamToken(
  env: Env,
  installation: Installation,
  text: string,
  notes: AuditNotes,
): Promise<TeamTokenInfo | null> {
  const credential = await readTeamToken(installation.keys, text);
  const found = credential && (await authenticateTeam(env, installation, credential, "use"));
  if (!found) return null;
  notes.auth = auditTeamToken(found);
  const { team, token } = found;
  return {
    teamId: team.teamId,
    teamName: team.name,
    organization: team.organization,
    tokenId: token.tokenId,
    policies: team.tokenPolicies,
    createdAt: token.createdAt,
    expiresAt: token.expiresAt,
  };
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

/** What the audit log says about the token of a team. */
export function auditTeamToken(found: TeamWithToken): AuditAuth {
  return auditAuth(tokenRecordOf(found), found.token.tokenId, "team");
}

/** The token in the terms of all other tokens. */
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
