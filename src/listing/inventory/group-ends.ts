import { askShards } from "../ask-shards.ts";
import type { ListingEnv } from "../env.ts";
import { addUp, topOf } from "./group-sums.ts";
import type { EndsQuery, GroupEnds, ShardEnds } from "./shard/group-ends.ts";

/** Exact numbers of expiring tokens in all shards, with the largest groups, the largest first. */
export type EndsOfGroups = Omit<ShardEnds, "isWhole">;

/** Counts expiring tokens by time, for the `limit` largest groups; null when a shard has more than `MAX_ENDING`. */
export async function endsOfGroups(
  env: ListingEnv,
  query: Omit<EndsQuery, "keys">,
  limit: number,
): Promise<EndsOfGroups | null> {
  const first = await askAll(env, { ...query, keys: null });
  if (!first) return null;
  const keys = greatest(first, limit).map(({ key }) => key);
  // When a shard does not name all of its groups, all shards are asked again for the groups that are shown. For
  // policies they are always asked again: a token can be in several groups, so the rest is not the difference of sums.
  const isEnough = query.kind !== "policy" && first.every(({ isWhole }) => isWhole);
  const exact = isEnough ? first : await askAll(env, { ...query, keys });
  if (!exact) return null;
  const groups = greatest(exact, limit);
  const all = exact.map((one) => one.all).reduce(plus);
  const other = isEnough
    ? groups.reduce((left, { parts }) => left.map((count, at) => count - (parts[at] ?? 0)), all)
    : exact.map((one) => one.other).reduce(plus);
  return { all, groups, other };
}

async function askAll(env: ListingEnv, query: EndsQuery): Promise<ShardEnds[] | null> {
  const answers = await askShards(env, (shard) => shard.endsByGroup(query));
  const ends = answers.flatMap((answer) => answer ?? []);
  return ends.length < answers.length ? null : ends;
}

function greatest(shards: readonly ShardEnds[], limit: number): GroupEnds[] {
  const groups = shards.flatMap((shard) => shard.groups);
  const add = (a: GroupEnds, b: GroupEnds): GroupEnds => ({
    key: a.key,
    count: a.count + b.count,
    parts: plus(a.parts, b.parts),
  });
  return topOf(addUp(groups, add), limit);
}

function plus(a: readonly number[], b: readonly number[]): readonly number[] {
  return a.map((count, at) => count + (b[at] ?? 0));
}
