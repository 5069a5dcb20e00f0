import type { AccessorShard } from "./accessor-shard.ts";
import { askShards } from "./ask-shards.ts";
import type { ListingEnv } from "./env.ts";

/** Accessors that one call to a shard brings. */
const PAGE = 1000;

/**
 * At most `limit` accessors after `after`, in order; `limit` 0 means all. With a limit each shard is asked for one page
 * at most, so the cost follows the answer.
 */
export async function listAccessors(env: ListingEnv, after: string, limit: number): Promise<string[]> {
  const lists = await askShards(env, (shard) => listShard(shard, after, limit));
  const all = lists.flat().sort();
  return limit > 0 ? all.slice(0, limit) : all;
}

async function listShard(shard: DurableObjectStub<AccessorShard>, after: string, limit: number): Promise<string[]> {
  if (limit > 0) return shard.list(after, limit);
  const all: string[] = [];
  for (let from = after; ; ) {
    const page = await shard.list(from, PAGE);
    all.push(...page);
    const last = page.at(-1);
    if (page.length < PAGE || last === undefined) return all;
    from = last;
  }
}
