import type { AgedTerm } from "../crypto/key-terms.ts";
import type { CheckedRows } from "../storage/row-seals.ts";
import type { TeamEnv } from "./env.ts";
import { organizationDirectory, organizationNamed } from "./find.ts";
import type { OrganizationPage } from "./record.ts";
import type { Reconciled } from "./team-check.ts";

/** Page sizes: organizations of one call to the directory, and teams that one call to an organization compares. */
const ORGANIZATIONS = 100;
const TEAMS = 500;

/** What a run of `reconcileTeams` looked at. */
export interface TeamsReconciled extends CheckedRows {
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
  let sealed = 0;
  let tampered = 0;
  let failures = 0;
  const terms = new Set<number>();
  for (let after: number | null = 0; after !== null; ) {
    const page: OrganizationPage = await directory.after(after, ORGANIZATIONS);
    for (const { name, organizationId } of page.items) {
      organizations++;
      const organization = organizationNamed(env, name);
      const own = await organization.checkSeals(null);
      sealed += own.sealed;
      tampered += own.tampered;
      for (const term of own.terms) terms.add(term);
      // One that was tampered with stays on the list, for the next run to find.
      if (own.tampered === 0 && !(await organization.has(organizationId))) {
        await directory.remove(name, organizationId);
        vanished++;
      }
      for (let team: number | null = 0; team !== null; ) {
        const compared: Reconciled = await organization.reconcile(team, TEAMS, aged);
        sealed += compared.sealed;
        tampered += compared.tampered;
        for (const term of compared.terms) terms.add(term);
        failures += compared.failures;
        team = compared.next;
      }
    }
    after = page.next;
  }
  return { organizations, vanished, sealed, tampered, terms: [...terms], failures };
}
