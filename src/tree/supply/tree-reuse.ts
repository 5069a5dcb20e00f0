import { treeShardNumber } from "../../listing/accessor-shard-number.ts";

/** A freed tree with a larger database than this (bytes) loses it; a smaller one is kept for the next token. */
const MAX_KEPT_BYTES = 262_144;

/** A tree of which nothing is left. */
export interface EmptyTree {
  readonly treeId: string;
  /** Bytes. */
  readonly databaseSize: number;
  /** True when a shard has its id already. */
  readonly isOffered: boolean;
  /** Deletes its storage. @param keepsFloor true when row numbers go on above those of the deleted tokens. */
  deleteStorage(keepsFloor: boolean): Promise<void>;
  /** Gives its id to this shard, which hands it out again. */
  giveTo(shard: number): Promise<void>;
}

/** What becomes of trees of which nothing is left. */
export interface TreeReuse {
  /** True when the id of an empty tree is handed out again. */
  readonly reuses: boolean;
  /** True when a tree is handed out again with its file: its id can be offered before its last rows are deleted. */
  keepsFile(databaseSize: number): boolean;
  free(tree: EmptyTree): Promise<void>;
}

/** An object without storage costs nothing on the network, and the next tree is made near the client that asks for it. */
export const DELETED_TREES: TreeReuse = {
  reuses: false,
  keepsFile: () => false,
  free: (tree) => tree.deleteStorage(false),
};

/**
 * In one process a freed tree keeps its file and its id goes to the pool of a shard: the next login neither makes a file nor waits
 * for the disk as a new object does, and the number of files stays bounded.
 */
export const REUSED_TREES: TreeReuse = {
  reuses: true,
  keepsFile: (databaseSize) => databaseSize <= MAX_KEPT_BYTES,
  async free(tree) {
    if (!this.keepsFile(tree.databaseSize)) await tree.deleteStorage(true);
    if (!tree.isOffered) await tree.giveTo(treeShardNumber(tree.treeId));
  },
};

let current = DELETED_TREES;

/** What becomes of empty trees in this deployment. */
export function treeReuse(): TreeReuse {
  return current;
}

/** Chooses what becomes of empty trees in this deployment. */
export function useTreeReuse(chosen: TreeReuse): void {
  current = chosen;
}
