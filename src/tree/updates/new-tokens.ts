import type { InventoryEntry } from "../../listing/inventory/entry.ts";
import type { ListingMark } from "./listing-mark.ts";

/** Delay (ms) from the writing of a token to the alarm that checks whether the shards have it. */
export const BACKSTOP_MS = 5000;
/** Maximum number of tokens in a batch. */
const BATCH = 2000;
/** Maximum number of unconfirmed batches: while there are so many, no further tokens are read. */
const MAX_BATCHES = 10;

/** What `NewTokens` uses of the tree, and of the queue of its isolate. */
interface Publishing {
  /** Inventory entries of the live tokens among the rows. */
  readonly describe: (rows: readonly number[]) => readonly InventoryEntry[];
  /** Puts a new token into the queue. */
  readonly publish: (entry: InventoryEntry) => void;
  /** True while an update of the token is pending or in flight: its shard may not have it. */
  readonly isOnItsWay: (accessor: string) => boolean;
}

/** Tokens that were queued together: those up to the row `last` that are in no earlier batch. */
interface Batch {
  readonly accessors: readonly string[];
  last: number;
}

/**
 * The outbox of a tree: new tokens, from the writing of their rows until the shards have confirmed them. A batch does
 * not wait for the previous one, so a token is listed as soon as if it were alone. The stored mark rises with the
 * confirmations: after a crash all tokens above it are published again.
 */
export class NewTokens {
  readonly #mark: Pick<ListingMark, "outbox" | "listed">;
  readonly #publishing: Publishing;
  #batches: Batch[] = [];
  #backstopAt: number | null = null;

  constructor(mark: Pick<ListingMark, "outbox" | "listed">, publishing: Publishing) {
    this.#mark = mark;
    this.#publishing = publishing;
  }

  /** When the alarm checks whether the shards have all tokens (ms); null: they have. */
  get backstopAt(): number | null {
    return this.#backstopAt;
  }

  /** True while a batch is unconfirmed. */
  get isOnItsWay(): boolean {
    return this.#batches.length > 0;
  }

  /** True when a batch is unconfirmed and there are newer tokens that are not queued yet. */
  get isBehind(): boolean {
    return this.isOnItsWay && this.#unqueued(1).length > 0;
  }

  /** Resumes publishing after a restart of the object. Returns true when there are unconfirmed tokens. `now` in ms. */
  refresh(now: number): boolean {
    if (this.#mark.outbox(0, 1).length === 0) return false;
    this.#backstopAt ??= now + BACKSTOP_MS;
    return true;
  }

  /** Called after the first token of a tree was queued. `now` in ms. */
  started(row: number, accessor: string, now: number): void {
    this.#batches = [{ accessors: [accessor], last: row }];
    this.#backstopAt = now + BACKSTOP_MS;
  }

  /** Called after a token was written in this row. `now` in ms. */
  written(row: number, now: number): void {
    this.#backstopAt ??= now + BACKSTOP_MS;
    // Isolates number rows independently. A row with a lower number than the end of a batch can be written after the
    // batch, and the confirmation of the batch must not include it.
    for (const batch of this.#batches) batch.last = Math.min(batch.last, row - 1);
  }

  /** Queues a batch of new tokens. Returns their rows. */
  enqueue(): readonly number[] {
    if (this.#batches.length >= MAX_BATCHES) return [];
    const rows = this.#unqueued(BATCH);
    const last = rows.at(-1);
    if (last === undefined) return [];
    const made = this.#publishing.describe(rows);
    this.#batches.push({ accessors: made.map(({ accessor }) => accessor), last });
    for (const entry of made) this.#publishing.publish(entry);
    return rows;
  }

  /** Raises the mark for confirmed batches. Returns true when there are tokens to queue. `now` in ms. */
  noteListed(now: number): boolean {
    const firstOnItsWay = this.#batches.findIndex(({ accessors }) => accessors.some(this.#publishing.isOnItsWay));
    const known = this.#batches.splice(0, firstOnItsWay < 0 ? this.#batches.length : firstOnItsWay);
    const last = known.at(-1)?.last;
    if (last !== undefined) {
      this.#mark.listed(last);
      this.#backstopAt = this.isOnItsWay ? now + BACKSTOP_MS : null;
    }
    const isMore = this.#unqueued(1).length > 0;
    if (isMore) this.#backstopAt ??= now + BACKSTOP_MS;
    return isMore;
  }

  /** Has the alarm retry at `at` (ms) if a batch is still unconfirmed. */
  tryAgainAt(at: number): void {
    if (this.isOnItsWay) this.#backstopAt = at;
  }

  /** Resets the state when the tree is freed. */
  forget(): void {
    this.#batches = [];
    this.#backstopAt = null;
  }

  /** The first rows that are neither queued nor on the lists, at most `limit`. */
  #unqueued(limit: number): readonly number[] {
    return this.#mark.outbox(this.#batches.at(-1)?.last ?? 0, limit);
  }
}
