import { sleep } from "../../base/clock.ts";
import { decodeStoredId } from "../../token/ids.ts";
import { accessorShardNumber } from "../accessor-shard-number.ts";
import type { InventoryEntry } from "../inventory/entry.ts";
import type { TreeSize } from "../inventory/shard/tree-size.ts";
import { LOST_CALL_MS, ShardCalls } from "../shard-calls.ts";
import { CALL_DELAY_MS, HELD_BACK_MS, MAX_UPDATE_DELAY_MS } from "./delays.ts";

/** Between two looks whether a call of another object is over (ms). */
const LOOK_MS = 5;

/** The updates that one call brings to a shard of the list of accessors. */
export interface ShardUpdates {
  /** New tokens: listed from now on, with what the inventory keeps of them. */
  readonly made: readonly InventoryEntry[];
  /** Tokens of which something has changed. One that is not listed, or not any more, is left out. */
  readonly changed: readonly InventoryEntry[];
  /** Of trees whose oldest token the shard has. */
  readonly sizes: readonly TreeSize[];
  /** Trees whose ids this shard handed out, and whose first token is on the list of one of the shards. */
  readonly started: readonly StartedTree[];
}

/** A tree that was started, and the row of its first token. */
export interface StartedTree {
  readonly tree: string;
  readonly row: number;
}

/** Calls one shard. Rejects when it may not have the updates. */
export type Deliver = (shard: number, updates: ShardUpdates) => Promise<void>;

/** A new token, and the shard that handed out the id of its tree; null when it is not the first of a tree, or none did. */
interface Made {
  readonly entry: InventoryEntry;
  readonly allocatedBy: number | null;
}

/** What waits for one shard. */
class Waiting {
  readonly made = new Map<string, Made>();
  readonly changed = new Map<string, InventoryEntry>();
  readonly sizes = new Map<string, TreeSize>();
  /** By accessor. */
  readonly started = new Map<string, StartedTree>();

  has(accessor: string): boolean {
    return this.made.has(accessor) || this.changed.has(accessor);
  }
}

/**
 * Updates of the trees of one isolate for the shards: those of many trees go with one call, and of each token only the
 * newest.
 */
export class UpdateQueue {
  readonly #waiting = new Map<number, Waiting>();
  readonly #calls = new ShardCalls<Waiting>((shard, updates) => this.#putBack(shard, updates));

  /** A token was made. */
  created(entry: InventoryEntry, allocatedBy: number | null): void {
    this.#of(accessorShardNumber(entry.accessor)).made.set(entry.accessor, { entry, allocatedBy });
  }

  /** Something about a token has changed. */
  changed(entry: InventoryEntry): void {
    const waiting = this.#of(accessorShardNumber(entry.accessor));
    const made = waiting.made.get(entry.accessor);
    if (made) waiting.made.set(entry.accessor, { ...made, entry });
    else waiting.changed.set(entry.accessor, entry);
  }

  /** A tree has another size. */
  sized(size: TreeSize): void {
    this.#of(accessorShardNumber(size.root)).sizes.set(size.root, size);
  }

  /** True while the shard may not have heard of a token that was made or changed. */
  isOnItsWay(accessor: string): boolean {
    const shard = accessorShardNumber(accessor);
    return (this.#waiting.get(shard)?.has(accessor) || this.#calls.carriedTo(shard)?.has(accessor)) ?? false;
  }

  /** True when nothing waits but what can wait for other updates. */
  get isQuiet(): boolean {
    if (!this.#calls.isEmpty) return false;
    return this.#isPatient;
  }

  /** After a sending: in how many ms the next one is due at the latest; null: nothing waits. */
  get nextSendIn(): number | null {
    if (this.#waiting.size === 0) return null;
    if (this.#isPatient) return MAX_UPDATE_DELAY_MS;
    return [...this.#waiting.keys()].some((shard) => this.#calls.has(shard)) ? HELD_BACK_MS : CALL_DELAY_MS;
  }

  /** Sends everything that waits, except to shards that are being called: what waits for those is left. `now` in ms. */
  async send(deliver: Deliver, now: number): Promise<void> {
    this.#calls.giveUpLost(now);
    const shards = [...this.#waiting.keys()].filter((shard) => !this.#calls.has(shard));
    await Promise.all(shards.map((shard) => this.#sendTo(shard, deliver, now)));
  }

  /** Cancels pending updates of these tokens, which are about to go: none arrives after the answer. */
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

  /** True when what waits can wait for other updates. */
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

  /** Puts updates back, behind what came since. */
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
