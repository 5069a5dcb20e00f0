import { sleep } from "../../base/clock.ts";
import { decodeStoredId } from "../../token/ids.ts";
import { accessorShardNumber } from "../accessor-shard-number.ts";
import type { InventoryEntry } from "../inventory/entry.ts";
import type { TreeSize } from "../inventory/shard/tree-size.ts";
import { LOST_CALL_MS, ShardCalls } from "../shard-calls.ts";
import { CALL_DELAY_MS, HELD_BACK_MS, MAX_UPDATE_DELAY_MS } from "./delays.ts";

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

/**
 * A new token. `allocatedBy`: the shard that allocated its tree; null when it is not the first token, or no shard did.
 */
interface Made {
  readonly entry: InventoryEntry;
  readonly allocatedBy: number | null;
}

/** Pending updates for one shard. */
class Waiting {
  readonly made = new Map<string, Made>();
  readonly changed = new Map<string, InventoryEntry>();
  readonly sizes = new Map<string, TreeSize>();
  /** By the accessor of the first token. */
  readonly started = new Map<string, StartedTree>();

  has(accessor: string): boolean {
    return this.made.has(accessor) || this.changed.has(accessor);
  }
}

/**
 * Queue of the updates of all trees of one isolate. One call to a shard carries the updates of many trees, and of each
 * token only the newest.
 */
export class UpdateQueue {
  readonly #waiting = new Map<number, Waiting>();
  readonly #calls = new ShardCalls<Waiting>((shard, updates) => this.#putBack(shard, updates));

  /** Queues the update for a new token. */
  created(entry: InventoryEntry, allocatedBy: number | null): void {
    this.#of(accessorShardNumber(entry.accessor)).made.set(entry.accessor, { entry, allocatedBy });
  }

  /** Queues the update for a changed token. */
  changed(entry: InventoryEntry): void {
    const waiting = this.#of(accessorShardNumber(entry.accessor));
    const made = waiting.made.get(entry.accessor);
    if (made) waiting.made.set(entry.accessor, { ...made, entry });
    else waiting.changed.set(entry.accessor, entry);
  }

  /** Queues the update for a changed size of a tree. */
  sized(size: TreeSize): void {
    this.#of(accessorShardNumber(size.root)).sizes.set(size.root, size);
  }

  /** True while an update of the token is pending: its shard may not know that it was created or changed. */
  isOnItsWay(accessor: string): boolean {
    const shard = accessorShardNumber(accessor);
    return (this.#waiting.get(shard)?.has(accessor) || this.#calls.carriedTo(shard)?.has(accessor)) ?? false;
  }

  /** True when no call is in flight and only low-priority updates are pending. */
  get isQuiet(): boolean {
    if (!this.#calls.isEmpty) return false;
    return this.#isPatient;
  }

  /** Maximum delay until the next call of `send()` (ms), read after one; null when nothing is pending. */
  get nextSendIn(): number | null {
    if (this.#waiting.size === 0) return null;
    if (this.#isPatient) return MAX_UPDATE_DELAY_MS;
    return [...this.#waiting.keys()].some((shard) => this.#calls.has(shard)) ? HELD_BACK_MS : CALL_DELAY_MS;
  }

  /** Sends all pending updates. Those for shards with a call in flight stay pending. `now` in ms. */
  async send(deliver: Deliver, now: number): Promise<void> {
    this.#calls.giveUpLost(now);
    const shards = [...this.#waiting.keys()].filter((shard) => !this.#calls.has(shard));
    await Promise.all(shards.map((shard) => this.#sendTo(shard, deliver, now)));
  }

  /** Cancels pending updates of these tokens, which are about to be removed: none arrives once this returns. */
  async takeBack(accessors: readonly string[]): Promise<void> {
    for (const accessor of accessors) {
      const shard = accessorShardNumber(accessor);
      for (let waited = 0; this.#calls.carriedTo(shard)?.has(accessor) && waited < LOST_CALL_MS; waited += LOOK_MS) {
        await sleep(LOOK_MS);
      }
      const waiting = this.#waiting.get(shard);
      const made = waiting?.made.get(accessor);
      if (made) this.#noteStarted(made);
      waiting?.made.delete(accessor);
      waiting?.changed.delete(accessor);
    }
  }

  /** True when only low-priority updates are pending: those about started trees. */
  get #isPatient(): boolean {
    return [...this.#waiting.values()].every(({ made, changed, sizes }) => made.size + changed.size + sizes.size === 0);
  }

  async #sendTo(shard: number, deliver: Deliver, now: number): Promise<void> {
    const updates = this.#of(shard);
    this.#waiting.delete(shard);
    const answered = await this.#calls.make(shard, updates, now, () =>
      deliver(shard, {
        made: [...updates.made.values()].map(({ entry }) => entry),
        changed: [...updates.changed.values()],
        sizes: [...updates.sizes.values()],
        started: [...updates.started.values()],
      }),
    );
    if (answered) for (const made of updates.made.values()) this.#noteStarted(made);
  }

  /** Puts the updates of a failed call back into the queue. Newer updates of the same tokens take precedence. */
  #putBack(shard: number, updates: Waiting): void {
    const waiting = this.#of(shard);
    for (const [accessor, made] of updates.made) {
      waiting.made.set(accessor, { ...made, entry: waiting.changed.get(accessor) ?? made.entry });
      waiting.changed.delete(accessor);
    }
    for (const [accessor, entry] of updates.changed) if (!waiting.has(accessor)) waiting.changed.set(accessor, entry);
    for (const [root, size] of updates.sizes) if (!waiting.sizes.has(root)) waiting.sizes.set(root, size);
    for (const [accessor, tree] of updates.started) waiting.started.set(accessor, tree);
  }

  #noteStarted({ entry, allocatedBy }: Made): void {
    const place = decodeStoredId(entry.accessor);
    if (allocatedBy === null || !place) return;
    this.#of(allocatedBy).started.set(entry.accessor, { tree: place.treeId, row: place.row });
  }

  #of(shard: number): Waiting {
    const known = this.#waiting.get(shard) ?? new Waiting();
    this.#waiting.set(shard, known);
    return known;
  }
}
