/*
 * From the answer of a creation to the list that has the token: the tree reads it, the queue of the isolate waits for others, the
 * shard is called. All in ms.
 */

/** Freshness of the lists: how long after an answer they may not know of it yet. The call to the shard has half a second of it. */
export const FRESHNESS_MS = 2000;
/** From a change in a tree to the reading of what it has become: changes of that time go together. */
export const READ_DELAY_MS = 500;
/** From the reading to the look whether the shards know of new tokens. */
export const CONFIRM_DELAY_MS = 1200;
/** From an update in the queue of an isolate to the call that carries it: updates of that time go together. */
export const CALL_DELAY_MS = 1000;
/** The same for a shard that was being called when its turn came. */
export const HELD_BACK_MS = 100;
/** Maximum delay of low-priority updates. */
export const MAX_UPDATE_DELAY_MS = 10_000;
/** After a call or a reading that failed. */
export const RETRY_MS = 5000;
