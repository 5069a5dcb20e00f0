import { TreeLeases } from "../lease/tree-leases.ts";
import type { Origin } from "../storage/origin.ts";
import type { SchemaVersions } from "../storage/tables.ts";
import { CubbyholeStore } from "./cubbyhole/store.ts";
import { Descendants } from "./descendants.ts";
import type { TreeEnv } from "./env.ts";
import { TokenPublisher } from "./known-tokens.ts";
import { TreeLineage } from "./lineage.ts";
import type { SharedParts } from "./shared-parts.ts";
import { TreeActions } from "./tree-actions.ts";
import { TreeKeys } from "./tree-keys.ts";
import { TreeStore } from "./tree-store.ts";
import { TreeUpkeep } from "./tree-upkeep.ts";
import { TreeUpdates } from "./updates/tree-updates.ts";

/** The parts of a token tree, one for each concern. */
export type TreeParts = ReturnType<typeof assembleTree>;

/** Puts the parts of a token tree together. */
export function assembleTree(storage: DurableObjectStorage, origin: Origin, env: TreeEnv, versions: SchemaVersions) {
  const { sql } = storage;
  // Tokens, accessors and seals contain the id that the tree was created with. The object of a restored tree has
  // another.
  const treeId = origin.id;
  const arm = () => upkeep.arm();
  const keys = new TreeKeys(env);
  const publisher = new TokenPublisher(treeId, () => storage.sync());
  const changed = (row: number) => inventory.changed(row);
  const tokens = new TreeStore(sql, treeId, keys, changed, () => publisher.changed(), versions);
  const inventory: TreeUpdates = new TreeUpdates(env, treeId, keys, tokens);
  const descendants = new Descendants(sql);
  const cubbyhole = new CubbyholeStore(sql, versions);
  const armBehindSweep = () => upkeep.armBehindSweep();
  const leases = new TreeLeases({ env, sql, versions, treeId, tokens, arm, armBehindSweep });
  const shared: SharedParts = {
    env,
    sql,
    treeId,
    keys,
    tokens,
    descendants,
    cubbyhole,
    leases,
    inventory,
    publisher,
    arm,
  };
  const actions = new TreeActions(shared);
  const lineage = new TreeLineage(shared);
  const upkeep: TreeUpkeep = new TreeUpkeep(shared, storage, origin);
  return { ...shared, actions, lineage, upkeep };
}
