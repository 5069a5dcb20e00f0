import type { EndRecord } from "../../token/end-record.ts";
import type { InventoryEntry } from "../inventory/entry.ts";

/** What a tree answers to a shard that asks for the end of its only token. */
export type SingleTokenEnd =
  /** It is not there any more. `isFree`: the tree can be handed out again. `end`: how it ended; null: it had gone before. */
  | { readonly kind: "gone"; readonly isFree: boolean; readonly end: EndRecord | null }
  /** Its end is another one than the shard knows, or has not come by the clock of the tree. */
  | { readonly kind: "alive"; readonly entry: InventoryEntry }
  /** The tree is at work on it, and takes it off the list itself. */
  | { readonly kind: "ending" };
