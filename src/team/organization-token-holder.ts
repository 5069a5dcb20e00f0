import { currentTime } from "../base/clock.ts";
import { repeated } from "../base/lost-call-retry.ts";
import { err, ok, type Result, unavailable } from "../base/result.ts";
import type { TeamEnv } from "./env.ts";
import { teamRoute } from "./ids.ts";
import type { KnownTeam } from "./organization-store.ts";
import type { OrganizationRecord } from "./record.ts";
import { tokenHolderOf } from "./rules/organization-token-access.ts";
import { teamAt } from "./stubs.ts";

/** A team and the revision that its organization knows. */
export type ComparedTeam = Pick<KnownTeam, "teamId" | "revision">;

/** The holder of an organization's tokens, which is in no list of teams; nothing if there is none. */
export function tokenHolders(organization: OrganizationRecord | null): readonly ComparedTeam[] {
  return organization?.holderId === undefined ? [] : [{ teamId: organization.holderId, revision: 0 }];
}

/** Creates the holder of an organization's tokens. Returns its route. Safe to repeat. */
export async function makeHolder(env: TeamEnv, organization: OrganizationRecord): Promise<Result<string>> {
  const { holderId, ownersTeamId } = organization;
  if (holderId === undefined || ownersTeamId === undefined) {
    return err(unavailable("the organization is not set up yet; try again"));
  }
  const holder = tokenHolderOf(organization, holderId, ownersTeamId, currentTime());
  try {
    const made = await repeated(
      env.deployment,
      async (): Promise<Result<unknown>> => teamAt(env, teamRoute(holderId)).create(holder),
    );
    return made.ok ? ok(teamRoute(holderId)) : made;
  } catch (error) {
    console.error(JSON.stringify({ type: "token_holder", error: String(error) }));
    return err(unavailable("the holder of the organization's tokens does not answer; try again"));
  }
}
