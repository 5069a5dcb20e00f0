import type { Keys } from "../../crypto/key-ring.ts";
import { columnOf, type Sql, upsert } from "../../storage/tables.ts";
import { mentionKeys } from "../mention-keys.ts";
import { openRow } from "./rows.ts";
import type { BatchRow } from "./tables.ts";

/** Number of records that may wait for their mentions to be indexed. A question indexes them first. */
const MAX_WAITING = 128;
/** Number of rows that are opened at once after a start of the object. */
const MAX_OPENED = 16;

/** A mention's key, and the number of a record that has it. */
type Mentioned = readonly [key: number, seq: number];

/**
 * The index of records by what they mention. It is written later than the records, for many at once, which share pages
 * and statements: keys are random, so an append that wrote into it would write a database page for each mention.
 */
export class MentionIndex {
  readonly #sql: Sql;
  readonly #object: string;
  readonly #inTransaction: (work: () => void) => void;
  /** Number of the first record whose mentions are in `#waiting`; null without one. */
  #waitsFrom: number | null = null;
  #waiting: Mentioned[] = [];
  #last = 0;
  /** False while records of an earlier instance of the object may wait. */
  #hasOnlyOwn = false;

  /** @param object id of the object, which the seals contain. */
  constructor(sql: Sql, object: string, inTransaction: (work: () => void) => void) {
    this.#sql = sql;
    this.#object = object;
    this.#inTransaction = inTransaction;
  }

  /** Takes the mentions of records that were stored: each record's mentions, from the record `firstSeq` on. */
  add(firstSeq: number, mentions: readonly (readonly number[])[]): void {
    this.#waitsFrom ??= firstSeq;
    for (const [at, keys] of mentions.entries()) for (const key of keys) this.#waiting.push([key, firstSeq + at]);
    this.#last = firstSeq + mentions.length - 1;
  }

  /** True when many records wait. Those that an earlier instance of the object left are found by `catchUp`. */
  get isBehind(): boolean {
    return this.#waitsFrom !== null && this.#last - this.#waitsFrom >= MAX_WAITING;
  }

  /** Indexes all records. Safe to repeat. */
  async catchUp(keys: Keys): Promise<void> {
    if (!this.#hasOnlyOwn) await this.#indexEarlier(keys, this.#waitsFrom ?? Number.POSITIVE_INFINITY);
    this.#hasOnlyOwn = true;
    if (this.#waitsFrom === null) return;
    this.#write(this.#waiting, this.#last);
    this.#waitsFrom = null;
    this.#waiting = [];
  }

  /** Forgets what waits: the records are deleted. */
  clear(): void {
    this.#waitsFrom = null;
    this.#waiting = [];
  }

  /** Indexes the records before `end` that an earlier instance of the object has left. */
  async #indexEarlier(keys: Keys, end: number): Promise<void> {
    const query = "SELECT * FROM batches WHERE first_seq > ? AND first_seq < ? ORDER BY first_seq LIMIT ?";
    for (let [done = 0] = columnOf<number>(this.#sql, "SELECT seq FROM indexed"); ; ) {
      const rows = this.#sql.exec<BatchRow>(query, done, end, MAX_OPENED).toArray();
      const last = rows.at(-1);
      if (!last) return;
      done = last.first_seq + last.count - 1;
      this.#write(await this.#mentionsOf(keys, rows), done);
    }
  }

  /** The mentions of the records of some rows. A row that can't be opened has none: a check reports it. */
  async #mentionsOf(keys: Keys, rows: readonly BatchRow[]): Promise<Mentioned[]> {
    const keyOf = await mentionKeys(keys);
    const all: Mentioned[] = [];
    for (const row of rows) {
      const { text } = await openRow(keys, this.#object, row);
      for (let place = 0; text && place < row.count; place++) {
        for (const mention of text.entry(place).mentions) all.push([keyOf(mention), row.first_seq + place]);
      }
    }
    return all;
  }

  #write(mentions: readonly Mentioned[], last: number): void {
    // In the order of the index, so that each of its pages is written once.
    const sorted = mentions.toSorted(([a], [b]) => a - b);
    this.#inTransaction(() => {
      const insert = "INSERT OR IGNORE INTO mentions (key, seq) SELECT value ->> 0, value ->> 1 FROM json_each(?)";
      this.#sql.exec(insert, JSON.stringify(sorted));
      upsert(this.#sql, "indexed", ["one"], { one: 1, seq: last });
    });
  }
}
