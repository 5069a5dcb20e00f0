import { TreeLeases } from "../lease/tree-leases.ts";
import { EarliestAlarm } from "../storage/earliest-alarm.ts";
import type { Origin } from "../storage/origin.ts";
import type { SchemaVersions } from "../storage/schema.ts";
import { CubbyholeStore } from "./cubbyhole/store.ts";
import { Descendants } from "./descendants.ts";
import type { TreeEnv } from "./env.ts";
import { knownTokens } from "./known-tokens.ts";
import { TreeLineage } from "./lineage.ts";
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
  // Tokens, accessors and seals name the tree where it was made, wherever it was restored.
  const treeId = origin.id;
  const arm = () => upkeep.arm();
  const keys = new TreeKeys(env);
  const { watermarks } = keys;
  const publisher = knownTokens().publisherOf(treeId, () => storage.sync());
  const inventory = new TreeUpdates({ env, treeId, tokens: () => tokens, open: () => keys.open() });
  const voidViews = () => publisher.changed();
  const tokens: TreeStore = new TreeStore(sql, treeId, keys, inventory, voidViews, versions);
  const cubbyhole = new CubbyholeStore(sql, versions);
  const armBehindSweep = () => upkeep.armBehindSweep();
  const leases = new TreeLeases({ env, sql, versions, treeId, tokens, arm, armBehindSweep });
  const targets = new TreeTargets({ tokens, cubbyhole, arm });
  const end = new TreeEnd({ env, storage, origin, treeId, tokens, cubbyhole, leases, inventory });
  const single = new SingleTokenExpiry(tokens, leases);
  const callers = new TreeCallers({
    treeId,
    tokens,
    cubbyhole,
    targets,
    inventory,
    publisher,
    watermarks,
    arm,
  });
  const describe = (rows: readonly number[]) => inventory.describe(rows);
  const descendants = new Descendants(sql);
  const lineage = new TreeLineage({ descendants, tokens, cubbyhole, describe, leases });
  const sweep = new TreeSweep({ env, sql, treeId, tokens, cubbyhole, inventory, leases, end });
  const endLeasesOf = (rows: readonly number[], limit: number) => leases.endSomeOf(rows, limit);
  const tidy = new TreeTidy({ env, sql, treeId, tokens, inventory, endLeasesOf });
  const alarm = new EarliestAlarm(storage);
  const upkeep: TreeUpkeep = new TreeUpkeep({
    keys,
    tokens,
    leases,
    inventory,
    publisher,
    single,
    end,
    sweep,
    tidy,
    alarm,
  });
  return {
    treeId,
    keys,
    tokens,
    targets,
    callers,
    leases,
    inventory,
    lineage,
    descendants,
    single,
    end,
    upkeep,
  };
}
