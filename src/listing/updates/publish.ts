import { currentTime, sleep } from "../../base/clock.ts";
import { SoonestTimer } from "../../base/soonest-timer.ts";
import { accessorShard } from "../accessor-shard.ts";
import type { ListingEnv } from "../env.ts";
import { CALL_DELAY_MS, RETRY_MS } from "./delays.ts";
import { type TreeUpdate, UpdateQueue } from "./update-queue.ts";

/** Maximum time that `publishPending` waits for calls in flight of other callers (ms). */
const MAX_WAIT_MS = 5000;
const LOOK_MS = 5;

/**
 * Updates of all trees in this isolate. They are lost with it; trees and shards store what is needed to repeat them.
 */
const QUEUE = new UpdateQueue();
const TIMER = new SoonestTimer();

/** Queues an update of a tree. It is sent within `CALL_DELAY_MS`. */
export function publish(env: ListingEnv, update: TreeUpdate): void {
  QUEUE.add(update);
  sendIn(env, CALL_DELAY_MS);
}

/** True while an update of the token is pending: its shard may not know that it was created or changed. */
export function isOnItsWay(accessor: string): boolean {
  return QUEUE.isOnItsWay(accessor);
}

/** Cancels pending updates of these tokens, which are about to be removed: none arrives once this returns. */
export function cancelUpdatesOf(accessors: readonly string[]): Promise<void> {
  return QUEUE.takeBack(accessors);
}

/** Sends all pending updates now. Once this returns the shards have them, unless one of them does not answer. */
export async function publishPending(env: ListingEnv): Promise<void> {
  for (let waited = 0; waited < MAX_WAIT_MS; waited += LOOK_MS) {
    if (!(await send(env)) || QUEUE.isQuiet) return;
    await sleep(LOOK_MS);
  }
}

/** Sends pending updates. Returns false when a shard did not answer: its updates are sent again later. */
async function send(env: ListingEnv): Promise<boolean> {
  try {
    await QUEUE.send(async (shard, updates) => accessorShard(env, shard).applyUpdates(updates), currentTime());
    return true;
  } catch (error) {
    console.error(JSON.stringify({ type: "list of accessors", error: String(error) }));
    sendIn(env, RETRY_MS);
    return false;
  }
}

async function sendAll(env: ListingEnv): Promise<void> {
  if (!(await send(env))) return;
  const next = QUEUE.nextSendIn;
  if (next !== null) sendIn(env, next);
}

function sendIn(env: ListingEnv, ms: number): void {
  TIMER.in(ms, () => void sendAll(env));
}
