import type { Env } from "../../env.ts";
import { accessorShard, accessorShardNumber } from "../index/accessor-shard.ts";
import type { TidyRow } from "./damage.ts";

/** What came of listing tokens again. */
export interface Relisted {
  readonly added: number;
  /** Accessors of tokens whose auth mount issues nothing any more: they were not listed. */
  readonly refused: ReadonlySet<string>;
}

/** Lists those of `tokens` that are not listed. */
export async function relist(env: Env, tokens: readonly TidyRow[]): Promise<Relisted> {
  const calls = [...byShard(tokens)].map(([shard, entries]) => accessorShard(env, shard).relist(entries));
  const answers = await Promise.all(calls);
  return {
    added: answers.reduce((sum, { added }) => sum + added, 0),
    refused: new Set(answers.flatMap(({ refused }) => refused)),
  };
}

/** Takes `tokens` off the list. */
export async function unlist(env: Env, tokens: readonly TidyRow[]): Promise<void> {
  await Promise.all(
    [...byShard(tokens)].map(([shard, entries]) =>
      accessorShard(env, shard).remove(entries.map(({ accessor }) => accessor)),
    ),
  );
}

function byShard(tokens: readonly TidyRow[]): Map<number, TidyRow[]> {
  return Map.groupBy(tokens, ({ accessor }) => accessorShardNumber(accessor));
}
