import { type Sql, storedJson } from "../../../storage/tables.ts";
import type { InventoryEntry } from "../entry.ts";
import { groupKeysOf, type TreeGrouping, treesKind } from "../terms.ts";
import type { InventoryCounts } from "./counts.ts";

/** Trees of several tokens whose groups one shard reads for one answer. */
export const MAX_READ_TREES = 50_000;

/** The groups of trees of one mount that are asked for; null: those that may be the greatest. */
export interface WantedTreeGroups {
  readonly mount: string;
  readonly keys: readonly string[] | null;
}

/** Trees whose first tokens, of one mount, have something in common. */
export interface TreeGroup {
  readonly mount: string;
  readonly key: string;
  readonly trees: number;
  /** Tokens of these trees besides their first ones. */
  readonly below: number;
}

/**
 * Groups of trees of one shard. How many trees they have is counted; what is below their first tokens is read from the index of
 * trees with several tokens, a row for each. null when those are too many.
 */
export function treeGroups(
  sql: Sql,
  counts: InventoryCounts,
  grouping: TreeGrouping,
  wanted: readonly WantedTreeGroups[],
): TreeGroup[] | null {
  const groups: TreeGroup[] = [];
  let left = MAX_READ_TREES;
  for (const { mount, keys } of wanted) {
    const { below, read } = belowByGroup(sql, grouping, mount, left);
    left -= read;
    if (left < 0) return null;
    // A group is great by many trees or by large ones.
    const asked = keys ?? [...below.keys(), ...counts.greatest(treesKind(grouping), mount).map(({ key }) => key)];
    const once = [...new Set(asked)];
    const trees = new Map(counts.of(treesKind(grouping), mount, once).map(({ key, count }) => [key, count]));
    groups.push(...once.map((key) => ({ mount, key, trees: trees.get(key) ?? 0, below: below.get(key) ?? 0 })));
  }
  return groups;
}

/** Tokens below the first ones of trees by group, and how many trees were read: `limit` and one at most. */
function belowByGroup(sql: Sql, grouping: TreeGrouping, mount: string, limit: number) {
  const below = new Map<string, number>();
  let read = 0;
  const query = "SELECT tree_size, entry FROM inventory WHERE tree_mount = ? LIMIT ?";
  const rows = sql.exec<{ tree_size: number; entry: string }>(query, mount, limit + 1);
  for (const { tree_size: size, entry } of rows) {
    read++;
    for (const key of groupKeysOf(storedJson<InventoryEntry>(entry), grouping)) {
      below.set(key, (below.get(key) ?? 0) + size - 1);
    }
  }
  return { below, read };
}
