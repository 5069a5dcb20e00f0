import { currentTime } from "../../base/clock.ts";
import { accessorShard } from "../accessor-shard.ts";
import { accessorShardNumber } from "../accessor-shard-number.ts";
import { askShards } from "../ask-shards.ts";
import type { ListingEnv } from "../env.ts";
import type { Position, TokenPage } from "./order.ts";
import { mergePages, shareOfShard } from "./queries.ts";
import type { RevocationJob } from "./revocation-job.ts";
import { revocationsOf } from "./revocations.ts";
import { type EndedFilter, type EndedToken, LAST_FIRST } from "./shard/ended.ts";

/** Trees note ends by their own clocks: a job's tokens can have ended so much (ms) before its start or after its end. */
const CLOCKS_MS = 60_000;

/** What is kept of a token that has ended; null when that is nothing. */
export async function findEnded(env: ListingEnv, accessor: string): Promise<EndedToken | null> {
  return accessorShard(env, accessorShardNumber(accessor)).findEnded(accessor);
}

/** All ends that are kept. */
export const ALL_ENDED: EndedFilter = { from: 0, to: Number.MAX_SAFE_INTEGER };

/**
 * The tokens that a job ended: between its start and its end, which is what makes them few to look through.
 *
 * @param run the job; null: it is kept no longer.
 */
export function endedInJob(job: string, run: Pick<RevocationJob, "startedAt" | "finishedAt"> | null): EndedFilter {
  if (!run) return { ...ALL_ENDED, job };
  return { job, from: run.startedAt - CLOCKS_MS, to: (run.finishedAt ?? currentTime()) + CLOCKS_MS };
}

/** The same by the id of the job alone. */
export async function endedByJob(env: ListingEnv, job: string): Promise<EndedFilter> {
  return endedInJob(job, await revocationsOf(env).read(job));
}

/** The tokens that ended with one, itself included: at the same moment. Null when nothing is kept of it. */
export async function endedWith(env: ListingEnv, cause: string): Promise<EndedFilter | null> {
  const ended = await findEnded(env, cause);
  return ended && { cause, from: ended.end.at, to: ended.end.at };
}

/** A page of what a filter means, the last to end first. Shards look at a bounded number of tokens each, see `pageOfInventory`. */
export async function pageOfEnded(
  env: ListingEnv,
  filter: EndedFilter,
  after: Position | null,
  limit: number,
): Promise<TokenPage<EndedToken>> {
  const pages = await askShards(env, (shard, number) =>
    shard.endedPage({ filter, after, shard: number, limit: shareOfShard(limit, number) }),
  );
  return mergePages(pages, LAST_FIRST, limit, ({ end }) => end.at);
}

/** How many tokens a filter means. */
export async function countEnded(env: ListingEnv, filter: EndedFilter): Promise<number> {
  return (await askShards(env, (shard) => shard.countEnded(filter))).reduce((sum, count) => sum + count, 0);
}
