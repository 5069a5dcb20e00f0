import { addNumbers } from "../../base/add-numbers.ts";
import { currentTime, type Ms } from "../../base/clock.ts";
import { inGroups } from "../../base/parallel.ts";
import { unlessMethodIsMissing } from "../../base/platform-errors.ts";
import { type TokenAddress, treeBeginning } from "../../token/ids.ts";
import { accessorShard, accessorShardNumber, askShards, generationOfShard } from "../accessor-shards.ts";
import type { ListingEnv } from "../env.ts";
import type { RemovedLeases } from "../lease-index.ts";
import {
  type CountedFilter,
  type EndedFilter,
  type EndedQuery,
  type EndedToken,
  isMeant,
  LAST_FIRST,
  NONE_REVOKED,
} from "./ended-tokens.ts";
import type { ListedToken, TreeSize } from "./entry.ts";
import { addCounts, type CountKind, type GroupCount, topOf } from "./index-terms.ts";
import {
  comparePositions,
  firstInOrder,
  keyOf,
  type Order,
  type ShardPage,
  type ShardQuery,
  type TokenPage,
} from "./page-cursor.ts";
import type { PageQuery } from "./shard/pages.ts";

/** Numbers of tokens by group, the largest groups first, and the total. */
export interface GroupCounts {
  readonly groups: readonly GroupCount[];
  readonly total: number;
}

export const MAX_SHOWN_GROUPS = 1000;

const ACCESSORS_AT_ONCE = 1000;

/**
 * Returns a page of the tokens that match `filter`, in order. Every shard reads a bounded number of tokens and returns
 * the position that it reached. The page ends at the first of these positions: it can have fewer tokens than `limit`,
 * or none, although more follow.
 */
export async function pageOfInventory(
  env: ListingEnv,
  query: Omit<PageQuery, "shard">,
): Promise<TokenPage<ListedToken>> {
  const { order, limit } = query;
  const pages = await sharesOfPage(env, limit, (shard, share) => shard.inventoryPage({ ...query, ...share }));
  return mergePages(pages, order, limit, (token) => keyOf(token, order.by));
}

type Share = Pick<ShardQuery<unknown>, "shard" | "limit">;

/** Asks each shard for its share of a page. A shard with more tokens makes the page shorter, not wrong. */
function sharesOfPage<T>(
  env: ListingEnv,
  limit: number,
  ask: (shard: ReturnType<typeof accessorShard>, share: Share) => Promise<ShardPage<T>>,
): Promise<ShardPage<T>[]> {
  return askShards(env, (shard, number) => {
    const share = Math.ceil((1.5 * limit) / generationOfShard(number).shards) + 12;
    return ask(shard, { shard: number, limit: Math.min(limit, share) });
  });
}

/** Merges the pages of all shards into one, which ends where the shard ends that has read least far. */
export function mergePages<T extends { readonly id: number }>(
  pages: readonly ShardPage<T>[],
  order: Order,
  limit: number,
  key: (token: T) => number,
): TokenPage<T> {
  const reached = pages.flatMap(({ upTo }) => upTo ?? []).sort((a, b) => comparePositions(a, b, order))[0] ?? null;
  const all = pages.flatMap(({ tokens }, shard) =>
    tokens.map((token) => ({ token, position: { key: key(token), id: token.id, shard } })),
  );
  const known = all.filter(({ position }) => reached === null || comparePositions(position, reached, order) <= 0);
  const { tokens, last } = firstInOrder(known, order, limit);
  return { tokens, next: last ?? reached, scanned: pages.reduce((sum, { scanned }) => sum + scanned, 0) };
}

/** Returns which of these trees have leases of secrets in the index. It may still have a lease that has just ended. */
export async function treesWithLeases(env: ListingEnv, trees: readonly string[]): Promise<ReadonlySet<string>> {
  if (trees.length === 0) return new Set();
  const byBeginning = new Map(trees.map((tree) => [treeBeginning(tree), tree]));
  const found = await askShards(env, (shard) => shard.treesWithLeases([...byBeginning.keys()]));
  return new Set(found.flat().flatMap((beginning) => byBeginning.get(beginning) ?? []));
}

/**
 * Counts the leases that were removed by force, by holder: of these trees, or with these tails. A shard that still runs
 * the last release knows none.
 */
export async function removedLeases(
  env: ListingEnv,
  { trees = [], tails = [] }: { readonly trees?: readonly string[]; readonly tails?: readonly string[] },
): Promise<RemovedLeases[]> {
  const beginnings = [...trees.map(treeBeginning), ...tails];
  if (beginnings.length === 0) return [];
  const found = await askShards(env, (shard) => unlessMethodIsMissing(shard.removedLeases(beginnings)));
  return found.flatMap((removed) => removed ?? []);
}

/** Returns the entries of the inventory for these accessors, by accessor. */
export async function findInInventory(env: ListingEnv, accessors: readonly string[]) {
  const byShard = Map.groupBy(accessors, accessorShardNumber);
  const found = await inGroups([...byShard], ([shard, of]) => accessorShard(env, shard).findListed(of));
  return new Map(found.flat().map((token): [string, ListedToken] => [token.accessor, token]));
}

/** Counts the tokens, or the trees, of each mount. */
export async function countByMount(env: ListingEnv, of: "tokens" | "trees"): Promise<GroupCount[]> {
  const lists = await askShards(env, (shard) => shard.countMounts(of));
  return topOf(addCounts(lists.flat()), MAX_SHOWN_GROUPS);
}

/** Counts the tokens by groups of one kind, with exact numbers, and all of them. `mount` null: of all mounts. */
export async function countByGroup(env: ListingEnv, kind: CountKind, mount: string | null): Promise<GroupCounts> {
  const counted = (await countByMount(env, "tokens")).filter(({ key }) => mount === null || key === mount);
  const total = counted.reduce((sum, { count }) => sum + count, 0);
  const mounts = counted.map(({ key }) => key);
  const lists = await askShards(env, (shard) => shard.groups(kind, mounts));
  // A shard returns its own largest groups. For the groups that are shown every shard is asked again.
  const keys = topOf(addCounts(lists.flat()), MAX_SHOWN_GROUPS).map(({ key }) => key);
  const exact = await askShards(env, (shard) => shard.countGroups(kind, mounts, keys));
  return { groups: topOf(addCounts(exact.flat()), MAX_SHOWN_GROUPS), total };
}

/** Counts the listed tokens in some groups, by key. Groups without tokens are left out. */
export async function countOf(env: ListingEnv, kind: CountKind, keys: readonly string[]) {
  if (keys.length === 0) return new Map<string, number>();
  const mounts = (await countByMount(env, "tokens")).map(({ key }) => key);
  const counts = await askShards(env, (shard) => shard.countGroups(kind, mounts, [...keys]));
  return new Map(addCounts(counts.flat()).map(({ key, count }) => [key, count]));
}

/** Returns the largest trees of a mount, at most `limit`. Trees of one token are left out. */
export async function largestTrees(env: ListingEnv, mount: string, limit: number): Promise<TreeSize[]> {
  const lists = await askShards(env, (shard) => shard.largestTrees(mount));
  const sorted = lists.flat().sort((a, b) => b.count - a.count || (a.root < b.root ? -1 : 1));
  return sorted.slice(0, limit);
}

/** Returns at most `limit` accessors after `after`, in order, for one page of each shard; `limit` 0: all. */
export async function listAccessors(env: ListingEnv, after: string, limit: number): Promise<string[]> {
  const atOnce = limit > 0 ? limit : ACCESSORS_AT_ONCE;
  const lists = await askShards(env, async (shard) => {
    const all: string[] = [];
    for (;;) {
      const page = await shard.list(all.at(-1) ?? after, atOnce);
      all.push(...page);
      if (limit > 0 || page.length < atOnce) return all;
    }
  });
  const all = lists.flat().sort();
  return limit > 0 ? all.slice(0, limit) : all;
}

/** Trees have their own clocks: tokens of a job can have ended this long before its start or after its end. */
const CLOCKS_MS = 60_000;

/** Returns the record of an ended token; null when none is kept. */
export async function findEnded(env: ListingEnv, accessor: string): Promise<EndedToken | null> {
  return accessorShard(env, accessorShardNumber(accessor)).findEnded(accessor);
}

/** Returns the record of an ended token by its address; null when none is kept. Any shard may have it. */
export async function findEndedAt(env: ListingEnv, address: TokenAddress): Promise<EndedToken | null> {
  const found = await askShards(env, (shard) => shard.endedAt(address));
  return found.find((ended) => ended !== null) ?? null;
}

/** Returns the first listed accessor with this beginning; null when none is listed. */
export async function findListedBeginning(env: ListingEnv, beginning: string): Promise<string | null> {
  const pages = await askShards(env, (shard) => shard.list(beginning, 1));
  return pages.flat().find((accessor) => accessor.startsWith(beginning)) ?? null;
}

/** Filter for all records that are kept. */
export const ALL_ENDED: CountedFilter = { from: 0, to: Number.MAX_SAFE_INTEGER };

/** Filter for the tokens that a job ended, limited to its time: few records are read. `run` null: it is not kept. */
export function endedInJob(job: string, run: { startedAt: Ms; finishedAt: Ms | null } | null): CountedFilter {
  if (!run) return { ...ALL_ENDED, job };
  return { job, from: run.startedAt - CLOCKS_MS, to: (run.finishedAt ?? currentTime()) + CLOCKS_MS };
}

/**
 * Filter for the tokens that a request ended.
 *
 * @param madeAt time of the request's watermark, before which it ended nothing. null: it made none, or the watermark is
 *   not kept; then all records are read, page by page.
 */
export function endedByRequest(request: string, madeAt: Ms | null): EndedFilter {
  return { ...ALL_ENDED, request, ...(madeAt !== null && { from: madeAt - CLOCKS_MS }) };
}

/** Filter for the token with the accessor `cause` and the tokens that ended with it; null when it has no record. */
export async function endedWith(env: ListingEnv, cause: string): Promise<EndedFilter | null> {
  const ended = await findEnded(env, cause);
  return ended && { cause, from: ended.end.at, to: ended.end.at };
}

/** Returns a page of the ended tokens that match a filter, the last to end first. Bounded like `pageOfInventory`. */
export async function pageOfEnded(env: ListingEnv, query: Omit<EndedQuery, "shard">): Promise<TokenPage<EndedToken>> {
  const pages = await sharesOfPage(env, query.limit, (shard, share) => shard.endedPage({ ...query, ...share }));
  // A shard of the last release does not know the filter `request`, and returns tokens that others ended.
  const meant = pages.map((page) => ({ ...page, tokens: page.tokens.filter((token) => isMeant(query.filter, token)) }));
  return mergePages(meant, LAST_FIRST, query.limit, ({ end }) => end.at);
}

/** Counts what a job ended by revoking `accessors`. Their trees must be swept before: the sweep makes the records. */
export async function countRevoked(env: ListingEnv, job: string, startedAt: Ms, accessors: readonly string[]) {
  const filter = endedInJob(job, { startedAt, finishedAt: null });
  const counts = await askShards(env, (shard) => shard.countRevoked(filter, accessors));
  return counts.reduce((sum, count) => addNumbers(sum, count), NONE_REVOKED);
}

/** Counts the ended tokens that match a filter. */
export async function countEnded(env: ListingEnv, filter: CountedFilter): Promise<number> {
  return (await askShards(env, (shard) => shard.countEnded(filter))).reduce((sum, count) => sum + count, 0);
}
