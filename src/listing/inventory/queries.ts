import { inGroups } from "../../base/parallel.ts";
import { ACCESSOR_SHARDS, type AccessorShard, accessorShard, accessorShardNumber } from "../accessor-shard.ts";
import type { ListingEnv } from "../env.ts";
import type { ListedToken } from "./entry.ts";
import type { TokenFilter } from "./filter.ts";
import { comparePositions, keyOf, type Order, type Position } from "./order.ts";
import type { GroupCount } from "./shard/counts.ts";
import type { ShardCount, ShardPage } from "./shard/pages.ts";
import type { TreeSize } from "./shard/tree-size.ts";
import type { CountKind } from "./terms.ts";

/** A page of the inventory. */
export interface InventoryPage {
  readonly tokens: readonly ListedToken[];
  /** The next page begins after this; null after the last. */
  readonly next: Position | null;
  /** Tokens looked at. */
  readonly scanned: number;
}

/** Counts of tokens by what they have in common, the greatest groups first. */
export interface GroupCounts {
  readonly groups: readonly GroupCount[];
  readonly total: number;
}

/** Groups that an answer has. */
export const MAX_SHOWN_GROUPS = 1000;

/**
 * Tokens that `filter` means, in order. Every shard looks at a bounded number of them and says how far it came, and the page goes
 * as far as all of them did: it can have fewer tokens than `limit`, or none, although more follow.
 *
 * @param after null for the first page.
 * @param now ms.
 */
export async function pageOfInventory(
  env: ListingEnv,
  filter: TokenFilter,
  order: Order,
  after: Position | null,
  limit: number,
  now: number,
): Promise<InventoryPage> {
  // Accessors are spread evenly; a shard that has more of the page than this makes the page shorter, not wrong.
  const share = Math.min(limit, Math.ceil((1.5 * limit) / ACCESSOR_SHARDS) + 12);
  const pages = await askShards(env, (shard, number) =>
    shard.inventoryPage({ filter, order, after, shard: number, limit: share, now }),
  );
  return mergePages(pages, order, limit);
}

/** The pages of all shards as one. */
export function mergePages(pages: readonly ShardPage[], order: Order, limit: number): InventoryPage {
  const reached = pages.flatMap(({ upTo }) => upTo ?? []).sort((a, b) => comparePositions(a, b, order))[0] ?? null;
  const placed = pages
    .flatMap(({ tokens }, shard) =>
      tokens.map((token) => ({ token, position: { key: keyOf(token, order.by), id: token.id, shard } })),
    )
    .filter(({ position }) => reached === null || comparePositions(position, reached, order) <= 0)
    .sort((a, b) => comparePositions(a.position, b.position, order));
  const page = placed.slice(0, limit);
  return {
    tokens: page.map(({ token }) => token),
    next: placed.length > limit ? (page.at(-1)?.position ?? null) : reached,
    scanned: pages.reduce((sum, { scanned }) => sum + scanned, 0),
  };
}

/** Tokens of one shard that a count looks at in one call, so that other calls come in between. */
const COUNTED_AT_ONCE = 5000;
/** Calls that a count makes to one shard at most: the platform limits the calls of one request. */
const MAX_COUNT_CALLS = 40;

/** How many tokens a filter means; `more` when there are too many to count, and how many are root tokens. */
export async function countMeant(
  env: ListingEnv,
  filter: TokenFilter,
  now: number,
): Promise<{ count: number; roots: number; more: boolean }> {
  const counts = await askShards(env, (shard) => countInShard(shard, filter, now));
  return {
    count: counts.reduce((sum, { count }) => sum + count, 0),
    roots: counts.reduce((sum, { roots }) => sum + roots, 0),
    more: counts.some(({ last }) => last !== null),
  };
}

async function countInShard(
  shard: DurableObjectStub<AccessorShard>,
  filter: TokenFilter,
  now: number,
): Promise<ShardCount> {
  let sum: ShardCount = { count: 0, roots: 0, last: null };
  for (let calls = 0; calls < MAX_COUNT_CALLS; calls++) {
    const { count, roots, last } = await shard.countInventory(filter, now, sum.last, COUNTED_AT_ONCE);
    sum = { count: sum.count + count, roots: sum.roots + roots, last };
    if (last === null) break;
  }
  return sum;
}

/** What the inventory has of these accessors, by accessor. */
export async function findInInventory(
  env: ListingEnv,
  accessors: readonly string[],
): Promise<Map<string, ListedToken>> {
  const byShard = Map.groupBy(accessors, accessorShardNumber);
  const found = await inGroups([...byShard], ([shard, of]) => accessorShard(env, shard).findListed(of));
  return new Map(found.flat().map((token) => [token.accessor, token]));
}

/** How many tokens, or trees, each mount has. */
export async function countByMount(env: ListingEnv, of: "tokens" | "trees"): Promise<GroupCount[]> {
  const lists = await askShards(env, (shard) => shard.countMounts(of));
  return topOf(addUp(lists.flat()), MAX_SHOWN_GROUPS);
}

/**
 * How many tokens there are by what `kind` says: exact for every group that is shown, and the total of all.
 *
 * @param mount counts the tokens of this one alone; null for all.
 */
export async function countByGroup(env: ListingEnv, kind: CountKind, mount: string | null): Promise<GroupCounts> {
  const counted = (await countByMount(env, "tokens")).filter(({ key }) => mount === null || key === mount);
  const mounts = counted.map(({ key }) => key);
  const lists = await askShards(env, (shard) => shard.groups(kind, mounts));
  // A shard names its own greatest groups; of those that are shown every shard is asked.
  const keys = topOf(addUp(lists.flat()), MAX_SHOWN_GROUPS).map(({ key }) => key);
  const exact = await askShards(env, (shard) => shard.countGroups(kind, mounts, keys));
  return { groups: topOf(addUp(exact.flat()), MAX_SHOWN_GROUPS), total: sumOf(counted) };
}

/** How many tokens are listed of each of these entities, by id; of one without tokens nothing is said. */
export async function countOfEntities(env: ListingEnv, ids: readonly string[]): Promise<ReadonlyMap<string, number>> {
  if (ids.length === 0) return new Map();
  const mounts = (await countByMount(env, "tokens")).map(({ key }) => key);
  const counts = await askShards(env, (shard) => shard.countGroups("entity", mounts, [...ids]));
  return new Map(addUp(counts.flat()).map(({ key, count }) => [key, count]));
}

/** The largest trees of a mount. A tree of one token is not among them. */
export async function largestTrees(env: ListingEnv, mount: string, limit: number): Promise<TreeSize[]> {
  const lists = await askShards(env, (shard) => shard.largestTrees(mount));
  return lists
    .flat()
    .sort((a, b) => b.count - a.count || (a.root < b.root ? -1 : 1))
    .slice(0, limit);
}

async function askShards<T>(
  env: ListingEnv,
  ask: (shard: DurableObjectStub<AccessorShard>, number: number) => Promise<T>,
): Promise<T[]> {
  const numbers = Array.from({ length: ACCESSOR_SHARDS }, (_, number) => number);
  return inGroups(numbers, (number) => ask(accessorShard(env, number), number));
}

function addUp(groups: readonly GroupCount[]): GroupCount[] {
  const sums = new Map<string, number>();
  for (const { key, count } of groups) sums.set(key, (sums.get(key) ?? 0) + count);
  return [...sums].map(([key, count]) => ({ key, count }));
}

function topOf(groups: readonly GroupCount[], limit: number): GroupCount[] {
  return [...groups].sort((a, b) => b.count - a.count || (a.key < b.key ? -1 : 1)).slice(0, limit);
}

function sumOf(groups: readonly GroupCount[]): number {
  return groups.reduce((sum, { count }) => sum + count, 0);
}
