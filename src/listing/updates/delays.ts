/*
 * Delays from the answer of a creation until the token is listed: the tree reads it, the queue of the isolate collects
 * updates, the shard is called. All in ms.
 */

/** Maximum delay between an answer and the lists. Half a second of it is left for the call to the shard. */
export const FRESHNESS_MS = 2000;
/** From a change in a tree to the reading of the changed tokens. Changes within this time are read together. */
export const READ_DELAY_MS = 500;
/** From the reading to the check whether the shards have the new tokens. */
export const CONFIRM_DELAY_MS = 1200;
/** From queueing an update in an isolate to the call with it. Updates within this time share a call. */
export const CALL_DELAY_MS = 1000;
/** The same for a shard that had a call in flight when the update was due. */
export const HELD_BACK_MS = 100;
/** Maximum delay of low-priority updates. */
export const MAX_UPDATE_DELAY_MS = 10_000;
/** Pause after a failed call or a failed reading. */
export const RETRY_MS = 5000;
