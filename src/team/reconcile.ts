import { inGroups } from "../base/parallel.ts";
import type { AgedTerm } from "../crypto/key-terms.ts";
import { allPages } from "../storage/pages.ts";
import { type CheckedRows, joinedChecks } from "../storage/row-seals.ts";
import type { TeamEnv } from "./env.ts";
import { organizationDirectory, organizationNamed, teamAt } from "./find.ts";
import { teamRoute } from "./ids.ts";
import type { KnownTeam, OrganizationStore } from "./organization-store.ts";

/** The result of a comparison of some teams. */
export interface Reconciled extends CheckedRows {
  /** The row after which the next page begins; null at the end. */
  readonly next: number | null;
  /** Number of teams that did not answer. */
  readonly failures: number;
}

export const NOTHING_RECONCILED: Reconciled = { next: null, sealed: 0, tampered: 0, terms: [], failures: 0 };

/**
 * Compares teams with the copies of their organization, and repairs the copies.
 *
 * @param isCurrent true while the organization exists.
 */
export async function checkTeams(
  env: TeamEnv,
  store: OrganizationStore,
  isCurrent: () => boolean,
  organizationId: string,
  teams: readonly KnownTeam[],
  aged: readonly AgedTerm[],
): Promise<Omit<Reconciled, "next">> {
  const compared = await inGroups(teams, async (known): Promise<CheckedRows | null> => {
    try {
      const team = teamAt(env, teamRoute(known.teamId));
      const { revision, ...checked } = await team.compare(organizationId, aged);
      // A newer state of the team may have arrived during the call.
      if (!isCurrent() || store.find(known.teamId)?.revision !== known.revision) return checked;
      // A team that was tampered with stays in the list, so that tidy finds it.
      if (revision === null) store.remove(known.teamId);
      else if (revision !== "tampered" && revision !== known.revision) {
        await team.tellAll(organizationId, known.revision);
      }
      return checked;
    } catch (error) {
      // The next run tries it again; the other teams are compared now.
      console.error(JSON.stringify({ type: "team_check", error: String(error) }));
      return null;
    }
  });
  const answered = compared.filter((one) => one !== null);
  return { ...joinedChecks(answered), failures: compared.length - answered.length };
}

/** Page sizes: organizations of one call to the directory, and teams of one call to an organization. */
const ORGANIZATIONS = 100;
const TEAMS = 500;

/** The result of a run of `reconcileTeams`. */
interface TeamsReconciled extends CheckedRows {
  readonly organizations: number;
  /** Number of listed organizations that did not exist. They were removed from the list. */
  readonly vanished: number;
  /** Number of teams that did not answer. */
  readonly failures: number;
}

/**
 * Compares all lists with their objects: the directory with the organizations, and each organization with its teams. Checks
 * the seals of organizations and teams. A part of tidy. Safe to run at any time and to interrupt.
 *
 * @param aged key terms that are dropped if nothing needs them.
 */
export async function reconcileTeams(env: TeamEnv, aged: readonly AgedTerm[] = []): Promise<TeamsReconciled> {
  const directory = organizationDirectory(env);
  let organizations = 0;
  let vanished = 0;
  let failures = 0;
  const checks: CheckedRows[] = [];
  for await (const { items } of allPages((after) => directory.after(after, ORGANIZATIONS))) {
    for (const { name, organizationId } of items) {
      organizations++;
      const organization = organizationNamed(env, name);
      const own = await organization.checkSeals(null);
      checks.push(own);
      // An organization that was tampered with stays in the list, so that the next run finds it.
      if (own.tampered === 0 && !(await organization.has(organizationId))) {
        await directory.remove(name, organizationId);
        vanished++;
      }
      for await (const compared of allPages((after) => organization.reconcile(after, TEAMS, aged))) {
        checks.push(compared);
        failures += compared.failures;
      }
    }
  }
  return { organizations, vanished, failures, ...joinedChecks(checks) };
}
