import { accessorShard, accessorShardNumber } from "../../listing/accessor-shard.ts";
import type { TreeEnv } from "../env.ts";
import type { TidyRow } from "./damage.ts";

/** Lists those of `tokens` that are not listed. Returns how many that were. */
export async function relist(env: TreeEnv, tokens: readonly TidyRow[]): Promise<number> {
  const calls = [...byShard(tokens)].map(([shard, entries]) => accessorShard(env, shard).relist(entries));
  return (await Promise.all(calls)).reduce((sum, added) => sum + added, 0);
}

/** Takes `tokens` off the list. */
export async function unlist(env: TreeEnv, tokens: readonly TidyRow[]): Promise<void> {
  await Promise.all(
    [...byShard(tokens)].map(([shard, entries]) =>
      accessorShard(env, shard).remove(entries.map(({ accessor }) => accessor)),
    ),
  );
}

function byShard(tokens: readonly TidyRow[]): Map<number, TidyRow[]> {
  return Map.groupBy(tokens, ({ accessor }) => accessorShardNumber(accessor));
}
