import type { TreeLeases } from "../lease/tree-leases.ts";
import type { CubbyholeStore } from "./cubbyhole/store.ts";
import type { Descendants } from "./descendants.ts";
import type { TreeEnv } from "./env.ts";
import type { TokenPublisher } from "./known-tokens.ts";
import type { TreeKeys } from "./tree-keys.ts";
import type { TreeStore } from "./tree-store.ts";
import type { TreeUpdates } from "./updates/tree-updates.ts";

/** The parts of a tree that the others use: its storage, and what it publishes. */
export interface SharedParts {
  readonly env: TreeEnv;
  readonly sql: SqlStorage;
  readonly treeId: string;
  readonly keys: TreeKeys;
  readonly tokens: TreeStore;
  readonly descendants: Descendants;
  readonly cubbyhole: CubbyholeStore;
  readonly leases: TreeLeases;
  readonly inventory: TreeUpdates;
  readonly publisher: TokenPublisher;
  /** Sets the alarm for what is due first. */
  readonly arm: () => void;
}
