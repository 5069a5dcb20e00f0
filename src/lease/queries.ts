import type { Ms } from "../base/clock.ts";
import type { Keys } from "../crypto/key-ring.ts";
import { accessorShard, askShards, shardNumbers } from "../listing/accessor-shards.ts";
import { type IndexedLease, type IrrevocableLease, orderOfIndexed } from "../listing/lease-index.ts";
import type { LeaseEnv } from "./env.ts";
import { leaseIdOfIndexed, orderOfName } from "./ids.ts";

/** Lists at most `limit` leases and folders (with a slash) of one level, after the name `after`, by `orderOfName`. */
export async function listLeases(
  env: LeaseEnv,
  keys: Keys,
  prefix: string,
  after: string,
  limit: number,
): Promise<string[]> {
  const start = orderOfName(after);
  const levels = await askShards(env, (shard) => shard.leaseLevel(prefix, start, limit));
  const names = new Map<string, IndexedLease | string>();
  for (const { leases, folders } of levels) {
    for (const lease of leases) names.set(orderOfIndexed(lease), lease);
    for (const folder of folders) names.set(folder, folder);
  }
  const first = [...names].sort(([a], [b]) => compare(a, b)).slice(0, limit);
  return Promise.all(
    first.map(async ([, name]) =>
      typeof name === "string" ? name : (await leaseIdOfIndexed(keys, name)).slice(prefix.length),
    ),
  );
}

/** Lists irrevocable leases by expiry and id. Shards are called one by one, which bounds the leases in memory. */
export async function listIrrevocable(env: LeaseEnv, limit: number): Promise<IrrevocableLease[]> {
  let first: IrrevocableLease[] = [];
  for (const number of shardNumbers()) {
    const more = await accessorShard(env, number).irrevocableLeases(limit);
    if (more.length === 0) continue;
    first = [...first, ...more]
      .sort((a, b) => a.expiresAt - b.expiresAt || compare(a.path, b.path) || compare(a.tail, b.tail))
      .slice(0, limit);
  }
  return first;
}

/**
 * Lists at most `limit` leases whose last attempt failed at `from` or later and that were to be tried again. Their trees
 * know whether they still are.
 */
export async function listFailed(env: LeaseEnv, from: Ms, limit: number): Promise<IrrevocableLease[]> {
  const found = await askShards(env, (shard) => shard.irrevocableLeases(limit, from));
  return found.flat().slice(0, limit);
}

/** Counts the leases whose revocation was given up, by engine: the first segment of their path. */
export async function countIrrevocable(env: LeaseEnv): Promise<Record<string, number>> {
  const total: Record<string, number> = {};
  for (const counts of await askShards(env, (shard) => shard.countIrrevocable())) {
    for (const [engine, count] of Object.entries(counts)) total[engine] = (total[engine] ?? 0) + count;
  }
  return total;
}

/** Counts the leases of secrets. A shard counts at most `MAX_COUNTED`, because it reads a row for each. */
export async function countLeases(env: LeaseEnv): Promise<number> {
  const counts = await askShards(env, (shard) => shard.countLeases(MAX_COUNTED));
  return counts.reduce((sum, count) => sum + count, 0);
}

const MAX_COUNTED = 10_000;

/** Counts the leases and tokens listed at or below `prefix`; null when a shard has more than `MAX_COUNTED_BELOW`. */
export async function countBelow(env: LeaseEnv, prefix: string): Promise<number | null> {
  const counts = await askShards(env, (shard) => shard.countBelow(prefix, MAX_COUNTED_BELOW + 1));
  if (counts.some((count) => count > MAX_COUNTED_BELOW)) return null;
  return counts.reduce((sum, count) => sum + count, 0);
}

/** Maximum number of entries that one shard counts. To count them in an index blocks the shard for some 20 ms. */
const MAX_COUNTED_BELOW = 200_000;

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
