import type { InventoryEntry } from "../inventory/entry.ts";
import type { TreeSize } from "../inventory/shard/tree-size.ts";

/** The updates that one call brings to a shard of the list of accessors. */
export interface ShardUpdates {
  /** New tokens: listed from now on, with what the inventory keeps of them. */
  readonly made: readonly InventoryEntry[];
  /** Tokens of which something has changed. One that is not listed, or not any more, is left out. */
  readonly changed: readonly InventoryEntry[];
  /** Of trees whose oldest token the shard has. */
  readonly sizes: readonly TreeSize[];
  /** Trees whose ids this shard handed out, and whose first token is on the list of one of the shards. */
  readonly started: readonly StartedTree[];
}

/** A tree that was started, and the row of its first token. */
export interface StartedTree {
  readonly tree: string;
  readonly row: number;
}

/** The path that a token is listed under. */
export function listedPath({ leased, path }: InventoryEntry): string {
  return leased ? path : "";
}
