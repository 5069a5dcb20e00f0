import { NAMED_CLASSES, type NamedClass, namedObject, namesOf } from "../backup/saved-objects.ts";
import type { Env } from "../env.ts";
import type { CheckedRows, SealPosition, SealStep } from "../storage/row-seals.ts";
import { mustServe } from "../system/installation.ts";

/** Classes of teams, whose seals are checked with their lists (`reconcileTeams`), and classes without sealed rows. */
const TEAMS: readonly NamedClass[] = ["Team", "Organization"];
const UNSEALED: readonly NamedClass[] = ["CustomIds", "OrganizationDirectory", "TokenRevocations"];

/**
 * Checks the seals of all rows outside trees and teams: policies, mounts with the storage of their methods, token
 * roles, identity and issuer. Safe to run at any time and to interrupt. An object that does not answer is counted
 * (`failures`) and must not stop the check of the others. @throws while the service is sealed.
 */
export async function checkObjects(env: Env): Promise<CheckedRows & { readonly failures: number }> {
  const installation = await mustServe(env);
  const found = { sealed: 0, tampered: 0, terms: new Set<number>(), failures: 0 };
  const attempt = async (object: string, work: () => Promise<void>): Promise<void> => {
    try {
      await work();
    } catch (error) {
      console.error(JSON.stringify({ type: "tidy", object, error: String(error) }));
      found.failures++;
    }
  };
  const check = async (className: NamedClass, name: string): Promise<void> => {
    for (let from: SealPosition | null | undefined; from !== null; ) {
      const step: SealStep = await namedObject(env, className, name).checkSeals(from ?? null);
      found.sealed += step.sealed;
      found.tampered += step.tampered;
      for (const term of step.terms) found.terms.add(term);
      from = step.next;
    }
  };
  for (const className of NAMED_CLASSES) {
    if (TEAMS.includes(className) || UNSEALED.includes(className)) continue;
    await attempt(className, async () => {
      const names = await namesOf(env, installation, className);
      for (const name of names) await attempt(`${className} ${name}`, () => check(className, name));
    });
  }
  return { ...found, terms: [...found.terms] };
}
