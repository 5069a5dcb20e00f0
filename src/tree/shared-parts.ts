import { TreeLeases } from "../lease/tree-leases.ts";
import type { SchemaVersions } from "../storage/tables.ts";
import { CubbyholeStore } from "./cubbyhole/store.ts";
import { Descendants } from "./descendants.ts";
import type { TreeEnv } from "./env.ts";
import { knownTokens } from "./known-tokens.ts";
import { TreeKeys } from "./tree-keys.ts";
import { TreeStore } from "./tree-store.ts";
import { TreeUpdates } from "./updates/tree-updates.ts";

/** The parts of a tree that the others use: its storage, and what it publishes. */
export type SharedParts = Readonly<ReturnType<typeof sharedParts>>;

/**
 * Makes the shared parts.
 *
 * @param treeId the id that the tree was created with, which tokens, accessors and seals contain. The object of a
 *   restored tree has another.
 * @param alarm sets the alarm for what is due first (`arm`). The same while a caller waits for the sweep
 *   (`armBehindSweep`).
 */
export function sharedParts(
  storage: DurableObjectStorage,
  treeId: string,
  env: TreeEnv,
  versions: SchemaVersions,
  alarm: { readonly arm: () => void; readonly armBehindSweep: () => void },
) {
  const { sql } = storage;
  const keys = new TreeKeys(env);
  const publisher = knownTokens().publisherOf(treeId, () => storage.sync());
  const changed = (row: number) => inventory.changed(row);
  const tokens = new TreeStore(sql, treeId, keys, changed, () => publisher.changed(), versions);
  const inventory: TreeUpdates = new TreeUpdates(env, treeId, keys, tokens);
  const descendants = new Descendants(sql);
  const cubbyhole = new CubbyholeStore(sql, versions);
  const leases = new TreeLeases({ env, sql, versions, treeId, tokens, ...alarm });
  return { env, sql, treeId, keys, tokens, descendants, cubbyhole, leases, inventory, publisher, arm: alarm.arm };
}
