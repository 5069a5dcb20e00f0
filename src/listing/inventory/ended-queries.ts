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

/** Trees have their own clocks: tokens of a job can have ended this long (ms) before its start or after its end. */
const CLOCKS_MS = 60_000;

/** Returns the record of an ended token; null when none is kept. */
export async function findEnded(env: ListingEnv, accessor: string): Promise<EndedToken | null> {
  return accessorShard(env, accessorShardNumber(accessor)).findEnded(accessor);
}

/** Filter for all records that are kept. */
export const ALL_ENDED: EndedFilter = { from: 0, to: Number.MAX_SAFE_INTEGER };

/**
 * Filter for the tokens that a job ended, limited to its time so that few records are read. `run` null: it is not kept.
 */
export function endedInJob(job: string, run: Pick<RevocationJob, "startedAt" | "finishedAt"> | null): EndedFilter {
  if (!run) return { ...ALL_ENDED, job };
  return { job, from: run.startedAt - CLOCKS_MS, to: (run.finishedAt ?? currentTime()) + CLOCKS_MS };
}

export async function endedByJob(env: ListingEnv, job: string): Promise<EndedFilter> {
  return endedInJob(job, await revocationsOf(env).read(job));
}

/** Filter for the tokens that ended with one, itself included; null when it has no record. */
export async function endedWith(env: ListingEnv, cause: string): Promise<EndedFilter | null> {
  const ended = await findEnded(env, cause);
  return ended && { cause, from: ended.end.at, to: ended.end.at };
}

/** Returns a page of the ended tokens that match a filter, the last to end first. Bounded like `pageOfInventory`. */
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

/** Counts the ended tokens that match a filter. */
export async function countEnded(env: ListingEnv, filter: EndedFilter): Promise<number> {
  return (await askShards(env, (shard) => shard.countEnded(filter))).reduce((sum, count) => sum + count, 0);
}
