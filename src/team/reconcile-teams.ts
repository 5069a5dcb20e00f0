import { allPages } from "../storage/pages.ts";
import { type CheckedRows, joinedChecks } from "../storage/row-seals.ts";
import type { AgedTerm } from "../system/aged-terms.ts";
import type { TeamEnv } from "./env.ts";
import { organizationDirectory, organizationNamed } from "./stubs.ts";

/** Page sizes: organizations of one call to the directory, and teams of one call to an organization. */
const ORGANIZATIONS = 100;
const TEAMS = 500;

/**
 * Compares all lists with their objects: the directory with the organizations, and each organization with its teams.
 * Checks the seals of organizations and teams. A part of tidy. Safe to run at any time and to interrupt. `vanished`
 * organizations did not exist and were removed from the list; `failures` are teams that did not answer.
 */
export async function reconcileTeams(env: TeamEnv, aged: readonly AgedTerm[] = []) {
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
