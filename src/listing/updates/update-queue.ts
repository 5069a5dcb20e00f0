import { sleep } from "../../base/clock.ts";
import { decodeStoredId } from "../../token/ids.ts";
import { accessorShardNumber } from "../accessor-shard-number.ts";
import type { InventoryEntry, TreeSize } from "../inventory/entry.ts";
import { CALL_DELAY_MS, HELD_BACK_MS, MAX_UPDATE_DELAY_MS } from "./delays.ts";
import { LOST_CALL_MS, ShardQueue } from "./shard-queue.ts";

/** Interval at which the end of another object's call is checked (ms). */
const LOOK_MS = 5;

/** Updates in one call to a shard of the list of accessors. */
export interface ShardUpdates {
  /** Entries of new tokens, which the shard adds to the list. */
  readonly made: readonly InventoryEntry[];
  /** Entries of changed tokens. The shard ignores tokens that are not listed. */
  readonly changed: readonly InventoryEntry[];
  /** Sizes of trees whose oldest token is in the shard. */
  readonly sizes: readonly TreeSize[];
  /** Trees whose ids this shard allocated, and whose first token some shard has listed, or which ended before that. */
  readonly started: readonly StartedTree[];
}

/** A tree with a first token, and the row of that token. */
export interface StartedTree {
  readonly tree: string;
  readonly row: number;
}

/** Sends updates to one shard. Rejects when the shard may not have them. */
export type Deliver = (shard: number, updates: ShardUpdates) => Promise<void>;

/** An update of a tree. */
export type TreeUpdate =
  /** `allocatedBy`: the shard that allocated the tree; null when it is not the first token, or no shard did. */
  | { readonly kind: "made"; readonly value: InventoryEntry; readonly allocatedBy: number | null }
  | { readonly kind: "changed"; readonly value: InventoryEntry }
  | { readonly kind: "size"; readonly value: TreeSize };

type Update = TreeUpdate | { readonly kind: "started"; readonly value: StartedTree };

type UpdateOf<K extends Update["kind"]> = Extract<Update, { readonly kind: K }>;

/**
 * Queue of the updates of all trees of one isolate. One call to a shard carries the updates of many trees, and of each
 * token only the newest. Updates of tokens are queued by accessor.
 */
export class UpdateQueue {
  readonly #updates = new ShardQueue<Update>((older, newer) =>
    older.kind === "made" && newer.kind === "changed" ? { ...older, value: newer.value } : newer,
  );

  /** Queues an update. */
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

  /** Maximum delay until the next call of `send()` (ms), read after one; null when nothing is queued. */
  get nextSendIn(): number | null {
    const shards = this.#updates.shards();
    if (shards.length === 0) return null;
    if (this.#isPatient) return MAX_UPDATE_DELAY_MS;
    return shards.some(([shard]) => this.#updates.isInFlight(shard)) ? HELD_BACK_MS : CALL_DELAY_MS;
  }

  /** Sends all queued updates. Those for shards with a call in flight stay queued. `now` in ms. */
  async send(deliver: Deliver, now: number): Promise<void> {
    const shards = this.#updates.ready(now);
    const send = async (shard: number) => {
      const sent = await this.#updates.send(shard, now, (updates) => deliver(shard, callOf(updates)));
      for (const made of only("made", sent)) this.#noteStarted(made);
    };
    await Promise.all(shards.map(([shard]) => send(shard)));
  }

  /** Cancels pending updates of these tokens, which are about to be removed: none arrives once this returns. */
  async takeBack(accessors: readonly string[]): Promise<void> {
    for (const accessor of accessors) {
      const shard = accessorShardNumber(accessor);
      const isInFlight = () => this.#updates.isInFlight(shard, accessor);
      for (let waited = 0; isInFlight() && waited < LOST_CALL_MS; waited += LOOK_MS) await sleep(LOOK_MS);
      const update = this.#updates.cancel(shard, accessor);
      if (update?.kind === "made") this.#noteStarted(update);
    }
  }

  /** True when only low-priority updates are queued: those about started trees. */
  get #isPatient(): boolean {
    return [...this.#updates.queued()].every(({ kind }) => kind === "started");
  }

  #noteStarted({ value: { accessor }, allocatedBy }: UpdateOf<"made">): void {
    const place = decodeStoredId(accessor);
    if (allocatedBy === null || !place) return;
    const started = { tree: place.treeId, row: place.row };
    this.#updates.add(allocatedBy, `started ${accessor}`, { kind: "started", value: started });
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

function only<K extends Update["kind"]>(kind: K, updates: readonly Update[]): UpdateOf<K>[] {
  return updates.filter((update): update is UpdateOf<K> => update.kind === kind);
}
