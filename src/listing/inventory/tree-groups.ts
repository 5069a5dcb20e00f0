import { type Sql, storedJson } from "../../storage/tables.ts";
import { askShards } from "../accessor-shards.ts";
import type { ListingEnv } from "../env.ts";
import type { InventoryEntry } from "./entry.ts";
import type { InventoryIndex } from "./shard/inventory-index.ts";
import { addUp, groupKeysOf, type TreeGrouping, topOf, treesKind } from "./terms.ts";

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
  index: InventoryIndex,
  grouping: TreeGrouping,
  wanted: readonly WantedTreeGroups[],
) {
  const groups: TreeGroup[] = [];
  let left = MAX_READ_TREES;
  for (const { mount, keys } of wanted) {
    const { below, read } = belowByGroup(sql, grouping, mount, left);
    left -= read;
    if (left < 0) return null;
    // A group can be large by many trees or by large ones.
    const asked = keys ?? [...below.keys(), ...index.greatest(treesKind(grouping), mount).map(({ key }) => key)];
    const once = [...new Set(asked)];
    const trees = new Map(index.countsOf(treesKind(grouping), mount, once).map(({ key, count }) => [key, count]));
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

/** Number of trees, and number of all of their tokens (`count`). */
export interface Trees {
  readonly trees: number;
  readonly count: number;
}

type GroupOfTrees = Trees & { readonly key: string };

/** Returns the largest groups of trees of each mount, at most `limit`, with exact numbers. null: too many trees. */
export async function greatestTreeGroups(
  env: ListingEnv,
  grouping: TreeGrouping,
  mounts: readonly string[],
  limit: number,
): Promise<ReadonlyMap<string, readonly GroupOfTrees[]> | null> {
  const all = mounts.map((mount) => ({ mount, keys: null }));
  const first = await ask(env, grouping, all);
  if (!first) return null;
  // A shard returns its own largest groups. For the groups that are shown every shard is asked again.
  const wanted = [...byMount(first)].map(([mount, groups]) => ({
    mount,
    keys: greatest(groups, limit).map(({ key }) => key),
  }));
  const exact = await ask(env, grouping, wanted);
  return exact && new Map([...byMount(exact)].map(([mount, of]) => [mount, greatest(of, limit)]));
}

/** Counts the trees whose first token is in each of these groups, and their tokens, by key. null: too many trees. */
export async function treesOfGroups(env: ListingEnv, grouping: TreeGrouping, wanted: readonly WantedTreeGroups[]) {
  const found = await ask(env, grouping, wanted);
  return found && new Map(allOf(found).map((group) => [group.key, group]));
}

/** Counts the trees of each mount, and their tokens. null: too many trees. */
export function treesOfMounts(env: ListingEnv, mounts: readonly string[]) {
  const wanted = mounts.map((mount) => ({ mount, keys: [mount] }));
  return treesOfGroups(env, "mount", wanted);
}

async function ask(env: ListingEnv, grouping: TreeGrouping, wanted: readonly WantedTreeGroups[]) {
  if (wanted.length === 0) return [];
  const answers = await askShards(env, (shard) => shard.treeGroups(grouping, wanted));
  return answers.includes(null) ? null : answers.flatMap((answer) => answer ?? []);
}

function byMount(groups: readonly TreeGroup[]): Map<string, GroupOfTrees[]> {
  const mounts = Map.groupBy(groups, ({ mount }) => mount);
  return new Map([...mounts].map(([mount, of]) => [mount, allOf(of)]));
}

function allOf(groups: readonly TreeGroup[]): GroupOfTrees[] {
  const of = groups.map(({ key, trees, below }) => ({ key, trees, count: trees + below }));
  return addUp(of, (a, b) => ({ key: a.key, trees: a.trees + b.trees, count: a.count + b.count }));
}

function greatest(groups: readonly GroupOfTrees[], limit: number): GroupOfTrees[] {
  const some = groups.filter(({ trees }) => trees > 0);
  return topOf(some, limit);
}
