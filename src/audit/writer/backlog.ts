import type { Ms } from "../../base/clock.ts";
import { type Dropped, droppedRecord } from "../dropped-record.ts";
import { type AuditBatch, type AuditEntry, MAX_BATCH_CHARACTERS, MAX_BATCH_ENTRIES, type UseCount } from "../entry.ts";

/** Maximum number of the records that an isolate keeps while no shard takes them, and of bytes of their texts. */
export const MAX_WAITING = 10_000;
export const MAX_WAITING_BYTES = 4_000_000;
/** Upper bound of the length of the record about dropped records. */
const DROPPED_LENGTH = 512;

/** A batch on its way, with how many of its entries are records of the queue. */
interface Sent {
  readonly batch: AuditBatch;
  readonly records: number;
}

/**
 * The records of an isolate that no shard has confirmed yet, in the order in which they came, bounded. They leave it as
 * batches with numbers, one at a time: a batch is offered, unchanged, until a shard has confirmed it.
 */
export class Backlog {
  readonly #writer: string;
  #queue: AuditEntry[] = [];
  #bytes = 0;
  #added = 0;
  #stored = 0;
  #batches = 0;
  #sent: Sent | null = null;
  /** Records that were not stored because the backlog was full. */
  #dropped: Dropped | null = null;

  /** @param writer the id of the isolate, with which shards recognise a repeated batch. */
  constructor(writer: string) {
    this.#writer = writer;
  }

  /** Number of records that no shard has confirmed. */
  get size(): number {
    return this.#queue.length;
  }

  /** Number of records that are not stored, with those that were dropped and are not on record yet. */
  get unstored(): number {
    return this.#queue.length + (this.#dropped?.count ?? 0);
  }

  /** True when records were dropped and that is not on record yet. */
  get hasDropped(): boolean {
    return this.#dropped !== null;
  }

  /** True when there is something to send, besides counts of uses. */
  get hasNews(): boolean {
    return this.unstored > 0;
  }

  /** Adds a record. Returns its ticket for `isStored`; null when there is no room: it is counted as dropped. */
  add(entry: AuditEntry): number | null {
    if (this.#queue.length >= MAX_WAITING || this.#bytes + bytesOf(entry) > MAX_WAITING_BYTES) {
      const { count, from } = this.#dropped ?? { count: 0, from: entry.at };
      this.#dropped = { count: count + 1, from, to: entry.at };
      return null;
    }
    this.#queue.push(entry);
    this.#bytes += bytesOf(entry);
    return ++this.#added;
  }

  /** The ticket of the last record. */
  get last(): number {
    return this.#added;
  }

  /** Number of the batch that takes the counts that wait, or of the last batch. @param hasUses true: uses wait. */
  lastBatch(hasUses: boolean): number {
    return this.#batches + (hasUses || this.#dropped !== null ? 1 : 0);
  }

  /** True when a shard has confirmed the batch with this number, and so all before it. */
  isConfirmed(number: number): boolean {
    return number < (this.#sent?.batch.number ?? this.#batches + 1);
  }

  /** True when a shard has confirmed the record with this ticket. */
  isStored(ticket: number): boolean {
    return ticket <= this.#stored;
  }

  /**
   * Returns the batch to send: the one that is not confirmed yet, or a new one; null when there is nothing to send.
   * @param takeUses removes counts of uses for a new batch, and returns them.
   */
  next(takeUses: () => readonly UseCount[], now: Ms): AuditBatch | null {
    if (this.#sent) return this.#sent.batch;
    const uses = takeUses();
    const dropped = this.#takeDropped(now);
    const records = this.#prefix(MAX_BATCH_ENTRIES - dropped.length);
    if (records.length + dropped.length + uses.length === 0) return null;
    const batch = { writer: this.#writer, number: ++this.#batches, entries: [...dropped, ...records], uses };
    this.#sent = { batch, records: records.length };
    return batch;
  }

  /**
   * Notes that a shard has confirmed a batch. A batch that another shard has already confirmed changes nothing.
   * @returns the number of records that it confirms.
   */
  confirm({ number }: AuditBatch): number {
    if (this.#sent?.batch.number !== number) return 0;
    const { records } = this.#sent;
    for (const entry of this.#queue.slice(0, records)) this.#bytes -= bytesOf(entry);
    this.#queue = this.#queue.slice(records);
    this.#stored += records;
    this.#sent = null;
    return records;
  }

  /** The records at the beginning of the queue that fit into a batch. */
  #prefix(most: number): readonly AuditEntry[] {
    let length = DROPPED_LENGTH;
    let end = 0;
    for (const { line } of this.#queue.slice(0, most)) {
      length += line.length;
      if (length > MAX_BATCH_CHARACTERS) break;
      end++;
    }
    return this.#queue.slice(0, end);
  }

  /** The record that says how many were dropped. */
  #takeDropped(now: Ms): readonly AuditEntry[] {
    const dropped = this.#dropped;
    if (!dropped) return [];
    this.#dropped = null;
    return [droppedRecord(dropped, now)];
  }
}

/** A text takes a byte for each character, or two when it has any beyond Latin-1. */
const WIDE = /[^\0-\xff]/;

function bytesOf({ line, mentions }: AuditEntry): number {
  const length = mentions.reduce((sum, mention) => sum + mention.length, line.length);
  return WIDE.test(line) ? 2 * length : length;
}
