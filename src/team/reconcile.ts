import type { Env } from "../env.ts";
import { organizationDirectory, organizationNamed } from "./find.ts";
import type { OrganizationPage } from "./record.ts";

/** Organizations that one call to the directory brings, and teams that one call to an organization compares. */
const ORGANIZATIONS = 100;
const TEAMS = 500;

/** What a run of `reconcileTeams` looked at. */
export interface TeamsReconciled {
  readonly organizations: number;
  /** Organizations on the list that do not exist; they were taken off it. */
  readonly vanished: number;
}

/**
 * Compares the lists with the objects that they are about, for all organizations: the list of organizations, and in each
 * the teams and their tokens. For the tidy operation; safe to run at any time and to break off.
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
