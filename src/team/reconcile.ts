import type { Env } from "../env.ts";
import { organizationDirectory, organizationNamed } from "./find.ts";
import type { OrganizationPage } from "./record.ts";

/** Page sizes: organizations of one call to the directory, and teams that one call to an organization compares. */
const ORGANIZATIONS = 100;
const TEAMS = 500;

/** What a run of `reconcileTeams` looked at. */
export interface TeamsReconciled {
  readonly organizations: number;
  /** Organizations on the list that do not exist; they were taken off it. */
  readonly vanished: number;
}

/**
 * Compares the lists with the objects that they list, for all organizations: the directory with the organizations, and
 * each organization with its teams and their tokens. Part of the tidy operation. Safe to run at any time and to
 * interrupt.
 */
export async function reconcileTeams(env: Env): Promise<TeamsReconciled> {
  const directory = organizationDirectory(env);
  let organizations = 0;
  let vanished = 0;
  for (let after: number | null = 0; after !== null; ) {
    const page: OrganizationPage = await directory.after(after, ORGANIZATIONS);
    for (const { name, organizationId } of page.items) {
      organizations++;
      const organization = organizationNamed(env, name);
      if (!(await organization.has(organizationId))) {
        await directory.remove(name, organizationId);
        vanished++;
      }
      for (let team: number | null = 0; team !== null; ) team = await organization.reconcile(team, TEAMS);
    }
    after = page.next;
  }
  return { organizations, vanished };
}
