import { within } from "../base/location.ts";
import type { Env } from "../env.ts";
import { entityShard, identityOf } from "../identity/stubs.ts";
import { issuerOf } from "../issuer/oidc-issuer.ts";
import type { CheckedRows, SealPosition, SealStep } from "../storage/row-seals.ts";
import { accessShardNames } from "../system/access-shards.ts";
import { loadInstallation } from "../system/installation.ts";
import { systemOf } from "../system/system.ts";
import { tokenRoles } from "../token/roles/token-roles.ts";

interface SealedObject {
  checkSeals(from: SealPosition | null): Promise<SealStep>;
}

/** Result of the check of one object or several. */
interface Found extends CheckedRows {
  /** Objects that did not answer. */
  readonly failures: number;
}

const NOTHING: Found = { sealed: 0, tampered: 0, terms: [], failures: 0 };

/**
 * Checks the seals of all rows outside trees and teams: policies, mounts with the storage of their methods, token
 * roles, identity and issuer. Safe to run at any time and to interrupt. An object that fails is counted and must not
 * stop the check of the others.
 *
 * @throws Error while the service is sealed.
 */
export async function checkObjects(env: Env): Promise<Found> {
  const loaded = await loadInstallation(env);
  if (!loaded.ok) throw new Error("seals can't be checked while the service is sealed");
  // All classes are called for every mount. Only the objects of its own method store rows.
  const mounts = loaded.value.mounts.flatMap((mount): [string, SealedObject][] => [
    [mount.uuid, within(env, env.CLOUD_AUTH).getByName(mount.uuid)],
    [mount.uuid, within(env, env.JWT_AUTH).getByName(mount.uuid)],
    ...accessShardNames(mount).map((name): [string, SealedObject] => [
      name,
      within(env, env.CLOUD_ACCESS_LIST).getByName(name),
    ]),
  ]);
  const shards = await entityShards(env);
  const objects: [string, SealedObject][] = [
    ["system", systemOf(env)],
    ["identity", identityOf(env)],
    ...(shards ?? []),
    ["issuer", issuerOf(env)],
    ["token roles", tokenRoles(env)],
    ...mounts,
  ];
  let found: Found = shards ? NOTHING : { ...NOTHING, failures: 1 };
  for (const [name, object] of objects) found = sum(found, await checkObject(name, object));
  return found;
}

/** Returns the shards of entities that have stored something; null when the directory did not answer. */
async function entityShards(env: Env): Promise<[string, SealedObject][] | null> {
  try {
    return (await identityOf(env).shards()).map((number) => [`entities ${number}`, entityShard(env, number)]);
  } catch (error) {
    console.error(JSON.stringify({ type: "tidy", object: "identity", error: String(error) }));
    return null;
  }
}

async function checkObject(name: string, object: SealedObject): Promise<Found> {
  let found = NOTHING;
  try {
    for (let from: SealPosition | null | undefined; from !== null; ) {
      const step: SealStep = await object.checkSeals(from ?? null);
      found = sum(found, { ...step, failures: 0 });
      from = step.next;
    }
  } catch (error) {
    console.error(JSON.stringify({ type: "tidy", object: name, error: String(error) }));
    found = sum(found, { ...NOTHING, failures: 1 });
  }
  return found;
}

function sum(a: Found, b: Found): Found {
  return {
    sealed: a.sealed + b.sealed,
    tampered: a.tampered + b.tampered,
    terms: [...new Set([...a.terms, ...b.terms])],
    failures: a.failures + b.failures,
  };
}
