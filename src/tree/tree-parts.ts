import { TreeLeases } from "../lease/tree-leases.ts";
import { EarliestAlarm } from "../storage/object-alarm.ts";
import type { Origin } from "../storage/origin.ts";
import type { SchemaVersions } from "../storage/tables.ts";
import { CubbyholeStore } from "./cubbyhole/store.ts";
import { Descendants } from "./descendants.ts";
import type { TreeEnv } from "./env.ts";
import { knownTokens } from "./known-tokens.ts";
import { TreeLineage } from "./lineage.ts";
import type { SharedParts } from "./shared-parts.ts";
import { SingleTokenExpiry } from "./single-token-expiry.ts";
import { TreeEnd } from "./supply/tree-end.ts";
import { TreeSweep } from "./sweep/tree-sweep.ts";
import { TreeTidy } from "./tidy/tree-tidy.ts";
import { TreeCallers } from "./tree-callers.ts";
import { TreeKeys } from "./tree-keys.ts";
import { TreeStore } from "./tree-store.ts";
import { TreeTargets } from "./tree-targets.ts";
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
  const publisher = knownTokens().publisherOf(treeId, () => storage.sync());
  const inventory = new TreeUpdates({ env, treeId, tokens: () => tokens, open: () => keys.open() });
  const changed = (row: number) => inventory.changed(row);
  const voidViews = () => publisher.changed();
  const tokens: TreeStore = new TreeStore(sql, treeId, keys, changed, voidViews, versions);
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
  const targets = new TreeTargets(shared);
  const callers = new TreeCallers(shared, targets);
  const lineage = new TreeLineage(shared);
  const alarm = new EarliestAlarm(storage);
  const end = new TreeEnd(shared, storage, origin, alarm);
  const single = new SingleTokenExpiry(tokens, leases);
  const sweep = new TreeSweep({ ...shared, end });
  const tidy = new TreeTidy(shared);
  const upkeep: TreeUpkeep = new TreeUpkeep({ ...shared, single, end, sweep, tidy, alarm });
  return { ...shared, targets, callers, lineage, single, end, upkeep };
}
