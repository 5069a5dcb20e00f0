import type { InventoryEntry } from "../../listing/inventory/entry.ts";
import { columnOf, type Migration, type SchemaVersions, Tables } from "../../storage/tables.ts";
import type { ListingProgress } from "../lifecycle.ts";

const BATCH = 2000;
/** Maximum number of unconfirmed batches: while there are so many, no further tokens are read. */
const MAX_BATCHES = 10;

export const LISTING_MARK_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "up to which row the tokens are on the list of accessors",
    sql: "CREATE TABLE listed (up_to INTEGER NOT NULL);",
  },
];

/**
 * The row up to which the list of accessors has all tokens of a tree. The rows above it are the outbox of the tree:
 * writing a row adds it, and raising the mark removes many at once. A tree of one token has no mark.
 */
export class ListingMark {
  readonly #sql: SqlStorage;
  readonly #mark: Tables;
  #upTo: number | null;

  constructor(sql: SqlStorage, versions: SchemaVersions) {
    this.#sql = sql;
    this.#mark = new Tables(sql, LISTING_MARK_MIGRATIONS, "listed", versions);
    this.#upTo = this.#read();
  }

  /** False in a tree that has not had a second token. */
  get exists(): boolean {
    return this.#upTo !== null;
  }

  /** True when the mark is at this row or above it. */
  covers(row: number): boolean {
    return this.#upTo !== null && row <= this.#upTo;
  }

  /**
   * Called before a token is written in this row. Keeps the mark below it. `isFirstCovered`: a shard lists the only
   * token so far, or asks for it.
   */
  written(row: number, isFirstCovered: boolean): void {
    if (this.#upTo === null) {
      const upTo = isFirstCovered ? "(SELECT COALESCE(MAX(row), 0) FROM tokens)" : "0";
      this.#mark.exec(`INSERT INTO listed (up_to) VALUES (${upTo})`);
      this.#upTo = this.#read();
    }
    // Isolates number rows independently, so a row can be written after one with a greater number.
    if (this.#upTo !== null && row <= this.#upTo) this.#set(row - 1);
  }

  listed(row: number): void {
    if (this.#upTo !== null && row > this.#upTo) this.#set(row);
  }

  /** Sets the mark back, because no list has a token of this tree any more. A tree of one token has no mark. */
  listAgain(): void {
    if (this.#upTo !== null) this.#set(0);
  }

  /** The first rows above both the mark and `after`, at most `limit`. */
  outbox(after: number, limit: number): number[] {
    if (this.#upTo === null) return [];
    const from = Math.max(this.#upTo, after);
    return columnOf(this.#sql, "SELECT row FROM tokens WHERE row > ? ORDER BY row LIMIT ?", from, limit);
  }

  /** Removes the mark for a new first token, which the shard that allocated the tree knows of. */
  begin(): void {
    if (this.#upTo !== null) this.#mark.exec("DELETE FROM listed");
    this.#upTo = null;
  }

  forget(): void {
    this.#mark.forget();
    this.#upTo = null;
  }

  #read(): number | null {
    return columnOf<number>(this.#mark, "SELECT up_to FROM listed")[0] ?? null;
  }

  #set(row: number): void {
    this.#upTo = row;
    this.#mark.exec("UPDATE listed SET up_to = ?", row);
  }
}

/** What `NewTokens` uses of the tree, and of the queue of its isolate. */
interface Publishing {
  readonly describe: (rows: readonly number[]) => readonly InventoryEntry[];
  readonly publish: (entry: InventoryEntry) => void;
  /** True while an update of the token is pending or in flight: its shard may not have it. */
  readonly isOnItsWay: (accessor: string) => boolean;
}

/** Tokens that were queued together: all tokens up to the row `last` that are in no earlier batch. */
interface Batch {
  readonly accessors: readonly string[];
  last: number;
}

/**
 * The outbox of a tree: new tokens, until the shards have confirmed them. A batch does not wait for the previous one,
 * so a token is listed as soon as if it were alone. The stored mark rises with the confirmations: after a crash all
 * tokens above it are published again.
 */
export class NewTokens {
  readonly #mark: Pick<ListingMark, "outbox" | "listed">;
  readonly #publishing: Publishing;
  #batches: Batch[] = [];

  constructor(mark: Pick<ListingMark, "outbox" | "listed">, publishing: Publishing) {
    this.#mark = mark;
    this.#publishing = publishing;
  }

  get isOnItsWay(): boolean {
    return this.#batches.length > 0;
  }

  /** True when there are tokens that the shards have not confirmed. */
  get hasUnlisted(): boolean {
    return this.isOnItsWay || this.#hasUnqueued;
  }

  /** True when a batch is unconfirmed and there are newer tokens that are not queued yet. */
  get isBehind(): boolean {
    return this.isOnItsWay && this.#hasUnqueued;
  }

  /** Notes that the first token of a tree was queued. */
  started(row: number, accessor: string): void {
    this.#batches = [{ accessors: [accessor], last: row }];
  }

  written(row: number): void {
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

  /** Raises the mark for confirmed batches. */
  noteListed(): ListingProgress {
    const firstOnItsWay = this.#batches.findIndex(({ accessors }) => accessors.some(this.#publishing.isOnItsWay));
    const known = this.#batches.splice(0, firstOnItsWay < 0 ? this.#batches.length : firstOnItsWay);
    const last = known.at(-1)?.last;
    if (last !== undefined) this.#mark.listed(last);
    return { ...this.progress(), confirmed: last !== undefined };
  }

  /** What is unconfirmed as of the last `noteListed`. */
  progress(): ListingProgress {
    return { confirmed: false, isOnItsWay: this.isOnItsWay, isMore: this.#hasUnqueued };
  }

  forget(): void {
    this.#batches = [];
  }

  get #hasUnqueued(): boolean {
    return this.#unqueued(1).length > 0;
  }

  /** The first rows that are neither queued nor on the lists, at most `limit`. */
  #unqueued(limit: number): readonly number[] {
    return this.#mark.outbox(this.#batches.at(-1)?.last ?? 0, limit);
  }
}
