import { auditDirectoryOf } from "../audit/object-name.ts";
import { namedObject, namesOf } from "../backup/saved-objects.ts";
import type { Env } from "../env.ts";
import type { SealPosition, SealStep } from "../storage/row-seals.ts";
import { mustServe } from "../system/installation.ts";
import type { ObjectCheck } from "./report.ts";

/** Classes without sealed rows. */
const UNSEALED: readonly string[] = ["CustomIds", "TokenRevocations"];

/**
 * Checks the seals of all rows outside trees and registered credentials: policies, mounts with the storage of their
 * methods, token roles, identity and issuer. Asks which terms of keys the audit store needs. Safe to run at any time
 * and to interrupt. An object that does not answer is counted and must not stop the check of the others.
 *
 * @throws while the service is sealed.
 */
export async function checkObjects(env: Env): Promise<ObjectCheck> {
  const { objects, credentials } = env.kinds;
  const { mounts, keys } = await mustServe(env);
  const found = { sealed: 0, tampered: 0, terms: new Set<number>(), failures: 0 };
  const attempt = async (object: string, work: () => Promise<void>): Promise<void> => {
    try {
      await work();
    } catch (error) {
      console.error(JSON.stringify({ type: "tidy", object, error: String(error) }));
      found.failures++;
    }
  };
  const check = async (className: string, name: string): Promise<void> => {
    for (let from: SealPosition | null | undefined; from !== null; ) {
      const step: SealStep = await namedObject(env, className, name).checkSeals(from ?? null);
      found.sealed += step.sealed;
      found.tampered += step.tampered;
      for (const term of step.terms) found.terms.add(term);
      from = step.next;
    }
  };
  for (const className of objects.keys()) {
    // The kind of a credential checks its own objects.
    if (UNSEALED.includes(className) || credentials.some((kind) => Object.hasOwn(kind.objects, className))) continue;
    await attempt(className, async () => {
      const names = await namesOf(env, mounts, className);
      for (const name of names) await attempt(`${className} ${name}`, () => check(className, name));
    });
  }
  await attempt("AuditDirectory", async () => {
    const oldest = await auditDirectoryOf(env).oldestTerm();
    // Records are sealed under the terms of their time, and are not sealed again.
    for (const { version } of keys.terms) if (oldest !== null && version >= oldest) found.terms.add(version);
  });
  return { ...found, terms: [...found.terms] };
}
