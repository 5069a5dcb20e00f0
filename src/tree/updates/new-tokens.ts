import type { InventoryEntry } from "../../listing/inventory/entry.ts";

/** So long after a token was written (ms) the alarm looks whether the shards know of it. */
export const BACKSTOP_MS = 5000;
/** Tokens that are read at once. */
const BATCH = 2000;
/** Batches that shards may not know: while there are so many, no more are read. */
const MAX_BATCHES = 10;

/** What is asked of the tree, and of the queue of its isolate. */
interface NewTokensDeps {
  /** Rows that the stored mark does not say the shards know, greater than `after`: the first ones, at most `limit`. */
  readonly unlisted: (after: number, limit: number) => readonly number[];
  /** Stores that the shards know all rows up to this one. */
  readonly listed: (upTo: number) => void;
  /** What the shards keep of those of the rows that are alive. */
  readonly describe: (rows: readonly number[]) => readonly InventoryEntry[];
  /** Puts a new token into the queue. */
  readonly publish: (entry: InventoryEntry) => void;
  /** True while the shard may not know of a token in the queue. */
  readonly isOnItsWay: (accessor: string) => boolean;
}

/** Tokens that were handed to the queue together: those up to the row `last`. */
interface Batch {
  readonly accessors: readonly string[];
  last: number;
}

/**
 * The outbox of a tree: new tokens, from the writing of their rows until the shards know them. Batches follow each other without
 * waiting, so a token is as soon on the list as if it were alone. The stored mark follows: after a crash everything behind it
 * is published again.
 */
export class NewTokens {
  readonly #deps: NewTokensDeps;
  #batches: Batch[] = [];
  #backstopAt: number | null = null;

  constructor(deps: NewTokensDeps) {
    this.#deps = deps;
  }

  /** When the alarm looks whether the shards know of all (ms); null: they do. */
  get backstopAt(): number | null {
    return this.#backstopAt;
  }

  /** True while shards may not know of what is being published. */
  get isOnItsWay(): boolean {
    return this.#batches.length > 0;
  }

  /** True when there are new tokens that were not handed over: too many others are on their way. */
  get isBehind(): boolean {
    return this.isOnItsWay && this.#deps.unlisted(this.#enqueuedUpTo, 1).length > 0;
  }

  /** Goes on with what the previous object had to publish. Returns whether it had something. `now` in ms. */
  refresh(now: number): boolean {
    if (this.#deps.unlisted(0, 1).length === 0) return false;
    this.#backstopAt ??= now + BACKSTOP_MS;
    return true;
  }

  /** The first token of a tree was handed to the queue. `now` in ms. */
  started(row: number, accessor: string, now: number): void {
    this.#batches = [{ accessors: [accessor], last: row }];
    this.#backstopAt = now + BACKSTOP_MS;
  }

  /** A token was written in this row. `now` in ms. */
  written(row: number, now: number): void {
    this.#backstopAt ??= now + BACKSTOP_MS;
    // Rows are numbered by many isolates: one can come after a later one, and is in none of the batches.
    for (const batch of this.#batches) batch.last = Math.min(batch.last, row - 1);
  }

  /** Hands new tokens to the queue. Returns their rows. */
  enqueue(): readonly number[] {
    if (this.#batches.length >= MAX_BATCHES) return [];
    const rows = this.#deps.unlisted(this.#enqueuedUpTo, BATCH);
    const last = rows.at(-1);
    if (last === undefined) return [];
    const made = this.#deps.describe(rows);
    this.#batches.push({ accessors: made.map(({ accessor }) => accessor), last });
    for (const entry of made) this.#deps.publish(entry);
    return rows;
  }

  /** Notes what the shards know by now. Returns whether there are tokens to hand over. `now` in ms. */
  noteListed(now: number): boolean {
    const firstOnItsWay = this.#batches.findIndex(({ accessors }) => accessors.some(this.#deps.isOnItsWay));
    const known = this.#batches.splice(0, firstOnItsWay < 0 ? this.#batches.length : firstOnItsWay);
    const last = known.at(-1)?.last;
    if (last !== undefined) {
      this.#deps.listed(last);
      this.#backstopAt = this.isOnItsWay ? now + BACKSTOP_MS : null;
    }
    const isMore = this.#deps.unlisted(this.#enqueuedUpTo, 1).length > 0;
    if (isMore) this.#backstopAt ??= now + BACKSTOP_MS;
    return isMore;
  }

  /** Publishing has failed for now: the alarm tries again at `at` (ms). */
  tryAgainAt(at: number): void {
    if (this.isOnItsWay) this.#backstopAt = at;
  }

  /** The tokens are being deleted. */
  forget(): void {
    this.#batches = [];
    this.#backstopAt = null;
  }

  get #enqueuedUpTo(): number {
    return this.#batches.at(-1)?.last ?? 0;
  }
}
