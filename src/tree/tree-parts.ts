import type { Origin } from "../storage/stored-object.ts";
import type { SchemaVersions } from "../storage/tables.ts";
import type { TreeEnv } from "./env.ts";
import { TreeLineage } from "./lineage.ts";
import { sharedParts } from "./shared-parts.ts";
import { TreeActions } from "./tree-actions.ts";
import { TreeUpkeep } from "./tree-upkeep.ts";

/** The parts of a token tree, one for each concern. */
export type TreeParts = ReturnType<typeof assembleTree>;

/** Puts the parts of a token tree together. */
export function assembleTree(storage: DurableObjectStorage, origin: Origin, env: TreeEnv, versions: SchemaVersions) {
  const alarm = { arm: () => upkeep.arm(), armBehindSweep: () => upkeep.arm(true) };
  const shared = sharedParts(storage, origin.id, env, versions, alarm);
  const upkeep: TreeUpkeep = new TreeUpkeep(shared, storage, origin);
  return { ...shared, actions: new TreeActions(shared), lineage: new TreeLineage(shared), upkeep };
}
