import { currentTime, type Ms, SoonestTimer, sleep } from "../../base/clock.ts";
import { logFailedWork } from "../../base/log.ts";
import { inGroups } from "../../base/parallel.ts";
import { decodeStoredId } from "../../token/ids.ts";
import { treeAt } from "../../token/tree-stub.ts";
import { accessorShard, accessorShardNumber, askShards } from "../accessor-shards.ts";
import type { ListingEnv } from "../env.ts";
import type { InventoryEntry, TreeSize } from "../inventory/entry.ts";
import { LOST_CALL_MS, ShardQueue } from "./shard-queue.ts";

/*
 * Delays from the answer of a creation until the token is listed: the tree reads it, the queue of the isolate collects
 * updates, the shard is called.
 */

/** Maximum delay between an answer and the lists. Half a second of it is left for the call to the shard. */
export const FRESHNESS_MS: Ms = 2000;
/** From a change in a tree to the reading of the changed tokens. Changes within this time are read together. */
export const READ_DELAY_MS: Ms = 500;
/** From the reading to the check whether the shards have the new tokens. */
export const CONFIRM_DELAY_MS: Ms = 1200;
/** From queueing an update in an isolate to the call with it. Updates within this time share a call. */
const CALL_DELAY_MS = 1000;
/** The same for a shard that had a call in flight when the update was due. */
const HELD_BACK_MS = 100;
/** Maximum delay of low-priority updates. */
const MAX_UPDATE_DELAY_MS = 10_000;
/** Pause after a failed call or a failed reading. */
export const RETRY_MS: Ms = 5000;

/** Updates in one call to a shard of the list of accessors. */
export interface ShardUpdates {
  readonly made: readonly InventoryEntry[];
  /** Entries of changed tokens. The shard ignores tokens that are not listed. */
  readonly changed: readonly InventoryEntry[];
  readonly sizes: readonly TreeSize[];
  /** Trees whose ids this shard allocated, and whose first token some shard has listed, or which ended before that. */
  readonly started: readonly StartedTree[];
}

/** A tree with a first token, and the row of that token. */
export interface StartedTree {
  readonly tree: string;
  readonly row: number;
}

type TreeUpdate =
  /** `ledger`: the shard that has the tree in its ledger; null when it is not the first token, or none has. */
  | { readonly kind: "made"; readonly value: InventoryEntry; readonly ledger: number | null }
  | { readonly kind: "changed"; readonly value: InventoryEntry }
  | { readonly kind: "size"; readonly value: TreeSize };

type Update = TreeUpdate | { readonly kind: "started"; readonly value: StartedTree };

/**
 * Queue of the updates of all trees of one isolate. One call to a shard carries the updates of many trees, and of each
 * token only the newest. Updates of tokens are queued by accessor.
 */
export class UpdateQueue {
  readonly #updates = new ShardQueue<Update>((older, newer) =>
    older.kind === "made" && newer.kind === "changed" ? { ...older, value: newer.value } : newer,
  );

  add(update: TreeUpdate): void {
    const accessor = update.kind === "size" ? update.value.root : update.value.accessor;
    const key = update.kind === "size" ? `size ${accessor}` : accessor;
    this.#updates.add(accessorShardNumber(accessor), key, update);
  }

  /** True while an update of the token is pending: its shard may not know that it was created or changed. */
  isOnItsWay(accessor: string): boolean {
    return this.#updates.isPending(accessorShardNumber(accessor), accessor);
  }

  /** True when no call is in flight and only low-priority updates are queued. */
  get isQuiet(): boolean {
    return !this.#updates.isInFlight() && this.#isPatient;
  }

  /** Maximum delay until the next call of `send()`, read after one; null when nothing is queued. */
  get nextSendIn(): Ms | null {
    const shards = this.#updates.shards();
    if (shards.length === 0) return null;
    if (this.#isPatient) return MAX_UPDATE_DELAY_MS;
    return shards.some(([shard]) => this.#updates.isInFlight(shard)) ? HELD_BACK_MS : CALL_DELAY_MS;
  }

  /** Sends updates to shards without a call in flight. `deliver` rejects if a shard may not have them. */
  async send(deliver: (shard: number, updates: ShardUpdates) => Promise<void>, now: Ms): Promise<void> {
    const shards = this.#updates.ready(now);
    const send = async (shard: number) => {
      const sent = await this.#updates.send(shard, now, (updates) => deliver(shard, callOf(updates)));
      for (const update of sent) this.#noteStarted(update);
    };
    await Promise.all(shards.map(([shard]) => send(shard)));
  }

  /** Cancels pending updates of these tokens, which are about to be removed: none arrives once this returns. */
  async cancelUpdates(accessors: readonly string[]): Promise<void> {
    for (const accessor of accessors) {
      const shard = accessorShardNumber(accessor);
      const isInFlight = () => this.#updates.isInFlight(shard, accessor);
      for (let waited = 0; isInFlight() && waited < LOST_CALL_MS; waited += LOOK_MS) await sleep(LOOK_MS);
      this.#noteStarted(this.#updates.cancel(shard, accessor));
    }
  }

  /** True when only low-priority updates are queued: those about started trees. */
  get #isPatient(): boolean {
    return [...this.#updates.queued()].every(({ kind }) => kind === "started");
  }

  #noteStarted(update: Update | undefined): void {
    if (update?.kind !== "made" || update.ledger === null) return;
    const { accessor } = update.value;
    const place = decodeStoredId(accessor);
    if (!place) return;
    const started = { tree: place.treeId, row: place.row };
    this.#updates.add(update.ledger, `started ${accessor}`, { kind: "started", value: started });
  }
}

function callOf(updates: readonly Update[]): ShardUpdates {
  return {
    made: only("made", updates).map(({ value }) => value),
    changed: only("changed", updates).map(({ value }) => value),
    sizes: only("size", updates).map(({ value }) => value),
    started: only("started", updates).map(({ value }) => value),
  };
}

function only<K extends Update["kind"]>(kind: K, updates: readonly Update[]) {
  return updates.filter((update): update is Extract<Update, { readonly kind: K }> => update.kind === kind);
}

/** Maximum time that `publishPending` waits for calls in flight of other callers. */
const MAX_WAIT_MS = 5000;
/** Interval at which the end of another object's call is checked. */
const LOOK_MS = 5;

/** Updates of all trees in this isolate. They are lost with it: trees and shards store what is needed to repeat. */
export const UPDATES = new UpdateQueue();
const TIMER = new SoonestTimer();

/** Queues an update of a tree. It is sent within `CALL_DELAY_MS`. */
export function publish(env: ListingEnv, update: TreeUpdate): void {
  UPDATES.add(update);
  sendIn(env, CALL_DELAY_MS);
}

/** The error of a shard that did not take its updates: they are sent again later. */
interface FailedCall {
  readonly error: unknown;
}

/** Sends all pending updates now. Once this returns null the shards have them, unless a call is lost. */
export async function publishPending(env: ListingEnv): Promise<FailedCall | null> {
  for (let waited = 0; waited < MAX_WAIT_MS; waited += LOOK_MS) {
    const failed = await send(env);
    if (failed || UPDATES.isQuiet) return failed;
    await sleep(LOOK_MS);
  }
  return null;
}

async function send(env: ListingEnv): Promise<FailedCall | null> {
  try {
    await UPDATES.send(async (shard, updates) => accessorShard(env, shard).applyUpdates(updates), currentTime());
    return null;
  } catch (error) {
    logFailedWork("list of accessors", error);
    sendIn(env, RETRY_MS);
    return { error };
  }
}

function sendIn(env: ListingEnv, ms: Ms): void {
  TIMER.in(ms, async () => {
    if (await send(env)) return;
    const next = UPDATES.nextSendIn;
    if (next !== null) sendIn(env, next);
  });
}

/** Maximum number of trees that one listing calls to publish their updates, where they can be in other isolates. */
const MAX_ASKED = 64;

/** Trees that requests of this isolate changed recently, by id, with the time of the change; the oldest first. */
const recent = new Map<string, Ms>();
const waiting = new Set<string>();

/** Notes that a request of this isolate created or renewed a token in a tree. */
export function noteChange(treeId: string, now: Ms): void {
  recent.delete(treeId);
  recent.set(treeId, now);
  for (const [tree, at] of recent) {
    if (at >= now - FRESHNESS_MS && recent.size <= MAX_ASKED) return;
    recent.delete(tree);
  }
}

/** Notes that a tree of this isolate has updates that a client may look for, or (`false`) has none any more. */
export function noteWaiting(treeId: string, waits: boolean): void {
  if (waits) waiting.add(treeId);
  else waiting.delete(treeId);
}

/** Lists what an earlier process left unlisted. null before the first list that this process reads. */
let recovery: Promise<void> | null = null;

/** Has all trees list their first token that are in a ledger, because no shard is known to list it. */
async function listUnlisted(env: ListingEnv): Promise<void> {
  const allocated = await askShards(env, (shard) => shard.allocatedTrees());
  await inGroups(allocated.flat(), async (treeId) => {
    try {
      await treeAt(env, treeId).report();
    } catch (error) {
      // The shard calls the tree again. A damaged tree must not close all lists.
      logFailedWork("list of accessors", error);
    }
  });
}

/**
 * Where one process makes all trees: lists what an earlier process left unlisted. It had the updates of its last seconds
 * in memory, and a revocation by a filter right after a restart would leave those tokens out.
 */
async function recoverLists(env: ListingEnv): Promise<void> {
  if (!env.deployment.makesAllTrees) return;
  recovery ??= listUnlisted(env);
  try {
    await recovery;
  } catch (error) {
    recovery = null;
    throw error;
  }
}

/**
 * Publishes the updates of all trees of this isolate, and of the trees in other isolates that its requests changed
 * recently, so that a client finds what it created.
 *
 * @throws when a shard does not take its updates, as on a full disk: a list without them would say that a live token is
 * not there.
 */
export async function publishRecent(env: ListingEnv, now: Ms): Promise<void> {
  await recoverLists(env);
  const changed = [...recent].filter(([, at]) => at >= now - FRESHNESS_MS).map(([treeId]) => treeId);
  recent.clear();
  await inGroups([...waiting], (treeId) => treeAt(env, treeId).enqueueUpdates());
  const elsewhere = env.deployment.treesElsewhere(changed).filter((treeId) => !waiting.has(treeId));
  await inGroups(elsewhere, (treeId) => treeAt(env, treeId).publishUpdates());
  const failed = await publishPending(env);
  if (failed) throw failed.error;
}
