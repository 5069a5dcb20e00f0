import { ACCESSOR_SHARDS } from "../../src/tree/index/accessor-shard-number.ts";
import { type Stream, startedTrees } from "./background.ts";
import { batches } from "./batches.ts";
import type { World } from "./world.ts";

/** The call with which an isolate tells a shard what its trees have to tell. */
const TELL = "AccessorShard.tell";
/** News wait so long for others of the same isolate (src/tree/index/tell-shards.ts), and so long when nobody looks for them (s). */
const NEWS_SECONDS = 1;
const PATIENCE_SECONDS = 10;

/**
 * The streams with news as isolates tell them: one call for all that comes in a second for one shard. The table of operations has
 * them as if each token were alone; rows stay as they are there. That the first token of a tree is listed waits longer, for other news.
 */
export function toldTogether(world: World, streams: readonly Stream[]): Stream[] {
  const told = streams.reduce((sum, { calls, perSecond }) => sum + (calls[TELL]?.times ?? 0) * perSecond, 0);
  const started = startedTrees(world);
  const calls = callsPerSecond(world, told - started, started);
  const share = told === 0 ? 0 : calls / told;
  return streams.map(({ calls: costs, perSecond }) => {
    const tell = costs[TELL];
    return { calls: tell ? { ...costs, [TELL]: { ...tell, times: tell.times * share } } : costs, perSecond };
  });
}

/**
 * Calls in a second for so much news, which comes at random from all isolates to all shards.
 *
 * @param waiting news that go with others, or alone after a while.
 */
export function callsPerSecond({ isolates }: Pick<World, "isolates">, news: number, waiting: number): number {
  const pairs = isolates * ACCESSOR_SHARDS;
  const alone = Math.exp((-news * PATIENCE_SECONDS) / pairs);
  return batches(pairs, news, NEWS_SECONDS) + alone * batches(pairs, waiting, PATIENCE_SECONDS);
}
