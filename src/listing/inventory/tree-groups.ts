import type { Ms } from "../../base/clock.ts";
import type { Sql } from "../../storage/tables.ts";
import { askShards } from "../accessor-shards.ts";
import type { ListingEnv } from "../env.ts";
import { UNKNOWN_ENTRY } from "./entry.ts";
import {
  addUp,
  type GroupCount,
  type GroupKind,
  groupKeysOf,
  type TreeGrouping,
  topOf,
  treesKind,
} from "./index-terms.ts";
import type { InventoryIndex } from "./shard/inventory-index.ts";
import { readEntry } from "./shard/tables.ts";

/** Maximum number of trees with several tokens that one shard reads for one answer. */
export const MAX_READ_TREES = 50_000;

/** The requested groups of trees of one mount. `keys` null: the groups that may be the largest. */
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
 * the entry of each tree with several tokens; null when there are more than `MAX_READ_TREES` such trees.
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
    // A group can be large because it has many trees, or because its trees are large.
    const asked = keys ?? [...below.keys(), ...index.greatest(treesKind(grouping), mount).map(({ key }) => key)];
    const once = [...new Set(asked)];
    const trees = new Map(index.countsOf(treesKind(grouping), mount, once).map(({ key, count }) => [key, count]));
    groups.push(...once.map((key) => ({ mount, key, trees: trees.get(key) ?? 0, below: below.get(key) ?? 0 })));
  }
  return groups;
}

/** Counts, by group, the tokens of trees besides their first ones. `read`: the trees read, at most `limit` + 1. */
function belowByGroup(sql: Sql, grouping: TreeGrouping, mount: string, limit: number) {
  const below = new Map<string, number>();
  let read = 0;
  const query = "SELECT tree_size, entry FROM inventory WHERE tree_mount = ? LIMIT ?";
  const rows = sql.exec<{ tree_size: number; entry: string }>(query, mount, limit + 1);
  for (const { tree_size: size, entry } of rows) {
    read++;
    for (const key of groupKeysOf(readEntry(entry) ?? UNKNOWN_ENTRY, grouping)) {
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
    keys: topOf(groups, limit).map(({ key }) => key),
  }));
  const exact = await ask(env, grouping, wanted);
  return exact && new Map([...byMount(exact)].map(([mount, of]) => [mount, topOf(of, limit)]));
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
  return allOrNull(answers)?.flat() ?? null;
}

/** Returns the answers of all shards; null when one of them would have had to read too much. */
function allOrNull<T>(answers: readonly (T | null)[]): T[] | null {
  const known = answers.filter((answer) => answer !== null);
  return known.length < answers.length ? null : known;
}

function byMount(groups: readonly TreeGroup[]): Map<string, GroupOfTrees[]> {
  const mounts = Map.groupBy(groups, ({ mount }) => mount);
  return new Map([...mounts].map(([mount, of]) => [mount, allOf(of)]));
}

function allOf(groups: readonly TreeGroup[]): GroupOfTrees[] {
  const of = groups.map(({ key, trees, below }) => ({ key, trees, count: trees + below }));
  return addUp(of, (a, b) => ({ key: a.key, trees: a.trees + b.trees, count: a.count + b.count }));
}

/** Maximum number of expiring tokens in the time of one query, in one shard. Each of them is read. */
export const MAX_ENDING = 100_000;
const MAX_NAMED = 1000;

/** A time span divided into parts, in which expiring tokens are counted. */
export interface EndsQuery {
  readonly kind: GroupKind;
  /** null: of all mounts. */
  readonly mount: string | null;
  readonly from: Ms;
  readonly step: Ms;
  readonly parts: number;
  /** Tokens that have expired by this time are not counted. */
  readonly now: Ms;
  /** The requested groups; null: the groups with the most tokens. */
  readonly keys: readonly string[] | null;
}

/** A group and the number of its tokens that expire in each part. */
interface GroupEnds extends GroupCount {
  readonly parts: readonly number[];
}

export interface ShardEnds {
  /** Number of all tokens that expire in each part. */
  readonly all: readonly number[];
  readonly groups: readonly GroupEnds[];
  /** True when `groups` has every group that was requested or found. */
  readonly isWhole: boolean;
  /** Tokens in each part that are in none of the requested groups; if `keys` is null, in no group at all. */
  readonly other: readonly number[];
}

/** Counts the expiring tokens of a shard by part and group. null when they are more than `MAX_ENDING`: each is read. */
export function endsByGroup(sql: Sql, { kind, mount, from, step, parts, now, keys }: EndsQuery): ShardEnds | null {
  const asked = keys && new Set(keys);
  const all = zeros(parts);
  const groups = new Map<string, number[]>(keys?.map((key) => [key, zeros(parts)]));
  let read = 0;
  const query = "SELECT ends, entry FROM inventory WHERE ends >= ? AND ends < ? LIMIT ?";
  const values = [Math.max(from, now + 1), from + step * parts, MAX_ENDING + 1];
  const rows = sql.exec<{ ends: Ms; entry: string }>(query, ...values);
  const other = zeros(parts);
  for (const { ends, entry } of rows) {
    if (++read > MAX_ENDING) return null;
    const token = readEntry(entry) ?? UNKNOWN_ENTRY;
    if (mount !== null && token.mount !== mount) continue;
    const part = Math.floor((ends - from) / step);
    add(all, part);
    const own = groupKeysOf(token, kind).filter((key) => asked === null || asked.has(key));
    if (own.length === 0) add(other, part);
    for (const key of own) {
      const counts = groups.get(key) ?? zeros(parts);
      groups.set(key, counts);
      add(counts, part);
    }
  }
  const sumOf = (counts: number[]) => counts.reduce((sum, n) => sum + n, 0);
  const counted = [...groups].map(([key, counts]) => ({ key, count: sumOf(counts), parts: counts }));
  const named = counted.sort((a, b) => b.count - a.count).slice(0, MAX_NAMED);
  return { all, groups: named, isWhole: keys !== null || named.length === counted.length, other };
}

function zeros(parts: number): number[] {
  return new Array<number>(parts).fill(0);
}

function add(counts: number[], at: number): void {
  counts[at] = (counts[at] ?? 0) + 1;
}

/** Counts expiring tokens by time, exactly, for the `limit` largest groups. null: a shard has more than it reads. */
export async function endsOfGroups(
  env: ListingEnv,
  query: Omit<EndsQuery, "keys">,
  limit: number,
): Promise<Omit<ShardEnds, "isWhole"> | null> {
  const first = allOrNull(await askShards(env, (shard) => shard.endsByGroup({ ...query, keys: null })));
  if (!first) return null;
  const keys = greatestEnds(first, limit).map(({ key }) => key);
  // When a shard does not name all of its groups, all shards are asked again for the groups that are shown. For
  // policies they are always asked again: a token can be in several groups, so `other` is not `all` minus the groups.
  const isEnough = query.kind !== "policy" && first.every(({ isWhole }) => isWhole);
  const exact = isEnough ? first : allOrNull(await askShards(env, (shard) => shard.endsByGroup({ ...query, keys })));
  if (!exact) return null;
  const groups = greatestEnds(exact, limit);
  const all = exact.map((one) => one.all).reduce(plus);
  const other = isEnough
    ? groups.reduce((left, { parts }) => left.map((count, at) => count - (parts[at] ?? 0)), all)
    : exact.map((one) => one.other).reduce(plus);
  return { all, groups, other };
}

function greatestEnds(shards: readonly ShardEnds[], limit: number): GroupEnds[] {
  const groups = shards.flatMap((shard) => shard.groups);
  const sums = addUp(groups, (a, b) => ({ key: a.key, count: a.count + b.count, parts: plus(a.parts, b.parts) }));
  return topOf(sums, limit);
}

function plus(a: readonly number[], b: readonly number[]): readonly number[] {
  return a.map((count, at) => count + (b[at] ?? 0));
}
