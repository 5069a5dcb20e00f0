import { TreeLeases } from "../lease/tree-leases.ts";
import { CarriedOutCalls } from "../storage/carried-out-calls.ts";
import type { ObjectOrigin } from "../storage/stored-object.ts";
import type { SchemaVersions } from "../storage/tables.ts";
import { CubbyholeStore } from "./cubbyhole.ts";
import type { TreeEnv } from "./env.ts";
import { TreeLife } from "./lifecycle-state.ts";
import { TreeKeys } from "./tree-keys.ts";
import { TreeStore } from "./tree-store.ts";
import { TreeUpdates } from "./updates/tree-updates.ts";

/** The parts of a tree that the others use: its storage, and what it publishes. */
export type TreeParts = Readonly<ReturnType<typeof treeParts>>;

/**
 * Makes the shared parts. Tokens, accessors and seals contain the id that the tree was created with; the object of a
 * restored tree has another id. For `arm` see `TreeMaintenance.arm`.
 */
export function treeParts(
  storage: DurableObjectStorage,
  origin: ObjectOrigin,
  env: TreeEnv,
  versions: SchemaVersions,
  arm: (options?: { readonly sweptByCaller: boolean }) => void,
) {
  const { sql } = storage;
  const treeId = origin.id;
  const keys = new TreeKeys(env);
  const publisher = env.deployment.knownTokens.publisherOf(treeId, () => storage.sync());
  const tokens = new TreeStore(sql, treeId, keys, () => publisher.changed(), versions);
  const life = new TreeLife();
  const inventory = new TreeUpdates(env, treeId, keys, tokens, life, arm);
  const cubbyhole = new CubbyholeStore(sql, versions);
  const carriedOut = new CarriedOutCalls(sql, versions);
  const leases = new TreeLeases({ env, sql, versions, treeId, tokens, carriedOut, arm });
  const shared = { env, storage, sql: tokens.sql, origin, treeId, keys, life };
  return { ...shared, tokens, carriedOut, cubbyhole, leases, inventory, publisher, arm };
}
