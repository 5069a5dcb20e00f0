import { within } from "../base/location.ts";
import type { Env } from "../env.ts";
import { entityShard, identityOf } from "../identity/stubs.ts";
import { issuerOf } from "../issuer/oidc-issuer.ts";
import type { CheckedRows, SealPosition, SealStep } from "../storage/row-seals.ts";
import { accessShardNames } from "../system/access-shards.ts";
import { loadInstallation } from "../system/installation.ts";
import { systemOf } from "../system/system.ts";
import { tokenRoles } from "../token/roles/token-roles.ts";

/**
 * Checks the seals of all rows outside trees and teams: policies, mounts with the storage of their methods, token
 * roles, identity and issuer. Safe to run at any time and to interrupt. An object that does not answer is counted
 * (`failures`) and must not stop the check of the others. @throws while the service is sealed.
 */
export async function checkObjects(env: Env): Promise<CheckedRows & { readonly failures: number }> {
  const loaded = await loadInstallation(env);
  if (!loaded.ok) throw new Error("seals can't be checked while the service is sealed");
  const found = { sealed: 0, tampered: 0, terms: new Set<number>(), failures: 0 };
  const attempt = async (object: string, work: () => Promise<void>): Promise<void> => {
    try {
      await work();
    } catch (error) {
      console.error(JSON.stringify({ type: "tidy", object, error: String(error) }));
      found.failures++;
    }
  };
  const objects: [string, { checkSeals(from: SealPosition | null): Promise<SealStep> }][] = [
    ["system", systemOf(env)],
    ["identity", identityOf(env)],
    ["issuer", issuerOf(env)],
    ["token roles", tokenRoles(env)],
  ];
  await attempt("identity", async () => {
    for (const shard of await identityOf(env).shards()) objects.push([`entities ${shard}`, entityShard(env, shard)]);
  });
  for (const mount of loaded.value.mounts) {
    // All classes are called for every mount. Only the objects of its own method store rows.
    objects.push([mount.uuid, within(env, env.CLOUD_AUTH).getByName(mount.uuid)]);
    objects.push([mount.uuid, within(env, env.JWT_AUTH).getByName(mount.uuid)]);
    const lists = within(env, env.CLOUD_ACCESS_LIST);
    for (const name of accessShardNames(mount)) objects.push([name, lists.getByName(name)]);
  }
  for (const [name, object] of objects) {
    await attempt(name, async () => {
      for (let from: SealPosition | null | undefined; from !== null; ) {
        const step: SealStep = await object.checkSeals(from ?? null);
        found.sealed += step.sealed;
        found.tampered += step.tampered;
        for (const term of step.terms) found.terms.add(term);
        from = step.next;
      }
    });
  }
  return { ...found, terms: [...found.terms] };
}
