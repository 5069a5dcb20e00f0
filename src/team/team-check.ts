import { inGroups } from "../base/parallel.ts";
import type { AgedTerm } from "../crypto/key-terms.ts";
import type { CheckedRows } from "../storage/row-seals.ts";
import type { TeamEnv } from "./env.ts";
import { teamAt } from "./find.ts";
import { teamRoute } from "./ids.ts";
import type { KnownTeam, OrganizationStore } from "./organization-store.ts";

/** What a comparison of some teams found. */
export interface Reconciled extends CheckedRows {
  /** The row to go on after; null at the end. */
  readonly next: number | null;
  /** Teams that did not answer. */
  readonly failures: number;
}

/** What the check of teams needs of the organization whose teams they are. */
export interface TeamCheckDeps {
  readonly env: TeamEnv;
  readonly store: OrganizationStore;
  /** True while the organization with this id exists. */
  has(organizationId: string): boolean;
}

/** Compares the index with up to `limit` teams after the row `after`, and repairs differences. */
export async function checkTeams(
  deps: TeamCheckDeps,
  organizationId: string,
  after: number,
  limit: number,
  aged: readonly AgedTerm[],
): Promise<Reconciled> {
  const teams = deps.store.teamsAfter(after, limit);
  const compared = await inGroups(teams, (team) => tryToCheck(deps, team, organizationId, aged));
  const answered = compared.filter((one) => one !== null);
  return {
    next: teams.length < limit ? null : (teams.at(-1)?.row ?? null),
    sealed: answered.reduce((sum, { sealed }) => sum + sealed, 0),
    tampered: answered.reduce((sum, { tampered }) => sum + tampered, 0),
    terms: [...new Set(answered.flatMap(({ terms }) => [...terms]))],
    failures: compared.length - answered.length,
  };
}

/** A team that can't be compared now is left for the next time: it must not keep the others waiting. Null then. */
async function tryToCheck(
  deps: TeamCheckDeps,
  known: KnownTeam,
  organizationId: string,
  aged: readonly AgedTerm[],
): Promise<CheckedRows | null> {
  try {
    return await check(deps, known, organizationId, aged);
  } catch (error) {
    console.error(JSON.stringify({ type: "team_check", error: String(error) }));
    return null;
  }
}

async function check(
  { env, store, has }: TeamCheckDeps,
  known: KnownTeam,
  organizationId: string,
  aged: readonly AgedTerm[],
): Promise<CheckedRows> {
  const team = teamAt(env, teamRoute(known.teamId));
  const { revision, ...checked } = await team.compare(organizationId, aged);
  // A newer state of the team may have arrived during the call. Then that one holds.
  if (!has(organizationId) || store.find(known.teamId)?.revision !== known.revision) return checked;
  // A team that was tampered with stays on the list, for tidy to find.
  if (revision === null) store.remove(known.teamId);
  else if (revision !== "tampered" && revision !== known.revision) {
    await team.tellAll(organizationId, known.revision);
  }
  return checked;
}
