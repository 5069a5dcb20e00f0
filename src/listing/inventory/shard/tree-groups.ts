import { type Sql, storedJson } from "../../../storage/tables.ts";
import type { InventoryEntry } from "../entry.ts";
import { groupKeysOf, type TreeGrouping, treesKind } from "../terms.ts";
import type { InventoryCounts } from "./counts.ts";

/** Maximum number of trees with several tokens that one shard reads for one answer. */
export const MAX_READ_TREES = 50_000;

/** The requested groups of trees of one mount. `keys` null: those that may be the largest. */
export interface WantedTreeGroups {
  readonly mount: string;
  readonly keys: readonly string[] | null;
}

/** A group of trees: their first tokens are of one mount and have a property in common. */
export interface TreeGroup {
  readonly mount: string;
  readonly key: string;
  readonly trees: number;
  /** Tokens of these trees besides their first ones. */
  readonly below: number;
}

/**
 * Returns groups of trees of one shard. Trees are counted by counters, and the tokens below their first ones by reading
 * each tree of several tokens; null when those are more than `MAX_READ_TREES`.
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
    // A group can be large by many trees or by large ones.
    const asked = keys ?? [...below.keys(), ...counts.greatest(treesKind(grouping), mount).map(({ key }) => key)];
    const once = [...new Set(asked)];
    const trees = new Map(counts.of(treesKind(grouping), mount, once).map(({ key, count }) => [key, count]));
    groups.push(...once.map((key) => ({ mount, key, trees: trees.get(key) ?? 0, below: below.get(key) ?? 0 })));
  }
  return groups;
}

/** Counts tokens below the first ones of trees, by group, and the trees that were read: at most `limit` + 1. */
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
