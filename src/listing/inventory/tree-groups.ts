import { askShards } from "../ask-shards.ts";
import type { ListingEnv } from "../env.ts";
import { addUp, topOf } from "./group-sums.ts";
import type { TreeGroup, WantedTreeGroups } from "./shard/tree-groups.ts";
import type { TreeGrouping } from "./terms.ts";

/** Number of trees, and number of all of their tokens (`count`). */
export interface Trees {
  readonly trees: number;
  readonly count: number;
}

export interface GroupOfTrees extends Trees {
  readonly key: string;
}

/**
 * Returns the largest groups of trees of each mount, at most `limit` of each, with exact numbers. null: too many trees.
 */
export async function greatestTreeGroups(
  env: ListingEnv,
  grouping: TreeGrouping,
  mounts: readonly string[],
  limit: number,
): Promise<ReadonlyMap<string, readonly GroupOfTrees[]> | null> {
  const first = await ask(
    env,
    grouping,
    mounts.map((mount) => ({ mount, keys: null })),
  );
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
export async function treesOfGroups(
  env: ListingEnv,
  grouping: TreeGrouping,
  mounts: readonly string[],
  keys: readonly string[],
): Promise<ReadonlyMap<string, Trees> | null> {
  const wanted = mounts.map((mount) => ({ mount, keys }));
  const found = await ask(env, grouping, wanted);
  return found && new Map(allOf(found).map((group) => [group.key, group]));
}

/** Counts the trees of each mount, and their tokens. null: too many trees. */
export async function treesOfMounts(
  env: ListingEnv,
  mounts: readonly string[],
): Promise<ReadonlyMap<string, Trees> | null> {
  const wanted = mounts.map((mount) => ({ mount, keys: [mount] }));
  const found = await ask(env, "mount", wanted);
  return found && new Map(allOf(found).map((group) => [group.key, group]));
}

async function ask(env: ListingEnv, grouping: TreeGrouping, wanted: WantedTreeGroups[]): Promise<TreeGroup[] | null> {
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
  return topOf(
    groups.filter(({ trees }) => trees > 0),
    limit,
  );
}
