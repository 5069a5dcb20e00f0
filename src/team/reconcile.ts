import { inGroups } from "../base/parallel.ts";
import type { AgedTerm } from "../crypto/key-terms.ts";
import { type CheckedRows, joinedChecks } from "../storage/row-seals.ts";
import type { TeamEnv } from "./env.ts";
import { organizationDirectory, organizationNamed, teamAt } from "./find.ts";
import { teamRoute } from "./ids.ts";
import type { OrganizationStore } from "./organization-store.ts";
import type { OrganizationPage } from "./record.ts";

/** What a comparison of some teams found. */
export interface Reconciled extends CheckedRows {
  /** The row to go on after; null at the end. */
  readonly next: number | null;
  /** Teams that did not answer. */
  readonly failures: number;
}

/** What the check of teams needs of the organization whose teams they are. */
interface TeamCheckDeps {
  readonly env: TeamEnv;
  readonly store: OrganizationStore;
  /** True while the organization with this id exists. */
  has(organizationId: string): boolean;
}

/** Compares the index with up to `limit` teams after the row `after`, and repairs differences. */
export async function checkTeams(
  { env, store, has }: TeamCheckDeps,
  organizationId: string,
  after: number,
  limit: number,
  aged: readonly AgedTerm[],
): Promise<Reconciled> {
  const teams = store.teamsAfter(after, limit);
  const compared = await inGroups(teams, async (known): Promise<CheckedRows | null> => {
    try {
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
    } catch (error) {
      // A team that can't be compared now is left for the next time: it must not keep the others waiting.
      console.error(JSON.stringify({ type: "team_check", error: String(error) }));
      return null;
    }
  });
  const answered = compared.filter((one) => one !== null);
  return {
    ...joinedChecks(answered),
    next: teams.length < limit ? null : (teams.at(-1)?.row ?? null),
    failures: compared.length - answered.length,
  };
}

/** Page sizes: organizations of one call to the directory, and teams that one call to an organization compares. */
const ORGANIZATIONS = 100;
const TEAMS = 500;

/** What a run of `reconcileTeams` looked at. */
interface TeamsReconciled extends CheckedRows {
  readonly organizations: number;
  /** Organizations on the list that do not exist; they were taken off it. */
  readonly vanished: number;
  /** Teams that did not answer. */
  readonly failures: number;
}

/**
 * Compares the lists with the objects that they list, for all organizations: the directory with the organizations, and
 * each organization with its teams and their tokens. Checks the seals of organizations and teams meanwhile. Part of the tidy
 * operation. Safe to run at any time and to interrupt.
 *
 * @param aged terms that may go when nothing needs them.
 */
export async function reconcileTeams(env: TeamEnv, aged: readonly AgedTerm[] = []): Promise<TeamsReconciled> {
  const directory = organizationDirectory(env);
  let organizations = 0;
  let vanished = 0;
  let failures = 0;
  const checks: CheckedRows[] = [];
  for (let after: number | null = 0; after !== null; ) {
    const page: OrganizationPage = await directory.after(after, ORGANIZATIONS);
    for (const { name, organizationId } of page.items) {
      organizations++;
      const organization = organizationNamed(env, name);
      const own = await organization.checkSeals(null);
      checks.push(own);
      // One that was tampered with stays on the list, for the next run to find.
      if (own.tampered === 0 && !(await organization.has(organizationId))) {
        await directory.remove(name, organizationId);
        vanished++;
      }
      for (let team: number | null = 0; team !== null; ) {
        const compared: Reconciled = await organization.reconcile(team, TEAMS, aged);
        checks.push(compared);
        failures += compared.failures;
        team = compared.next;
      }
    }
    after = page.next;
  }
  return { organizations, vanished, failures, ...joinedChecks(checks) };
}
