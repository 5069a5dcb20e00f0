import type { Ms } from "../../base/clock.ts";
import { columnOf, type Sql } from "../../storage/tables.ts";
import type { AuditFilter } from "../query.ts";

/** A record that was stored later than this after its time is late. Its row is in the index `late`. */
const LATE_MS = 60_000;
/** Greatest difference between two clocks. */
const SKEW_MS = 60_000;

/** Numbers of records from `first` to `last`; empty when `last` is less. */
export interface SeqRange {
  readonly first: number;
  readonly last: number;
}

/** The records that can have a time that the filter allows. `last`: number of the last record. */
export function rangeOf(sql: Sql, { from, until }: AuditFilter, last: number): SeqRange {
  const first = from === undefined ? 1 : firstSeqAt(sql, from - SKEW_MS, last);
  if (until === undefined) return { first, last };
  const inTime = firstSeqAt(sql, until + LATE_MS + 1, last) - 1;
  const late = columnOf<number | null>(
    sql,
    `SELECT MAX(first_seq + count - 1) FROM batches WHERE at - since > ${LATE_MS} AND since < ?`,
    until,
  );
  return { first, last: Math.max(inTime, late[0] ?? 0) };
}

/** The number of the first record that was stored at `at` or later; `last + 1` when there is none. */
function firstSeqAt(sql: Sql, at: Ms, last: number): number {
  // Times of storage never go back, so the rows are searched by halves.
  let [low, high] = [1, last + 1];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const row = rowWith(sql, middle);
    if (!row) return low;
    if (row.at < at) low = row.first_seq + row.count;
    else high = row.first_seq;
  }
  return low;
}

function rowWith(sql: Sql, seq: number) {
  const query = "SELECT first_seq, count, at FROM batches WHERE first_seq <= ? ORDER BY first_seq DESC LIMIT 1";
  return sql.exec<{ first_seq: number; count: number; at: Ms }>(query, seq).toArray()[0];
}

/**
 * Walks over the numbers of records that have all of some mentions, in order. Each step is a seek in the index for one
 * mention, so the cost depends on the rarest mention.
 */
export class IndexScan {
  readonly #sql: Sql;
  readonly #keys: readonly number[];
  readonly #newestFirst: boolean;
  readonly #end: number;
  /** The next number that can match. */
  #at: number;
  #stepsLeft: number;

  /** @param maxSteps after these the walk pauses. */
  constructor(sql: Sql, keys: readonly number[], { first, last }: SeqRange, newestFirst: boolean, maxSteps: number) {
    this.#sql = sql;
    this.#keys = keys;
    this.#newestFirst = newestFirst;
    this.#at = newestFirst ? last : first;
    this.#end = newestFirst ? first : last;
    this.#stepsLeft = maxSteps;
  }

  /** Returns the next number; "end" after the last one, "pause" when the steps are used up. */
  next(): number | "end" | "pause" {
    for (let agreed = 0, which = 0; ; which = (which + 1) % this.#keys.length) {
      if (this.#isPast(this.#at)) return "end";
      if (this.#stepsLeft-- <= 0) return "pause";
      const found = this.#seek(this.#keys[which] ?? 0);
      if (found === null || this.#isPast(found)) return "end";
      agreed = found === this.#at ? agreed + 1 : 1;
      this.#at = found;
      if (agreed < this.#keys.length) continue;
      this.#at += this.#newestFirst ? -1 : 1;
      return found;
    }
  }

  /** After a pause: the number from which the walk goes on. */
  get at(): number {
    return this.#at;
  }

  #isPast(seq: number): boolean {
    return this.#newestFirst ? seq < this.#end : seq > this.#end;
  }

  #seek(key: number): number | null {
    const [compare, order] = this.#newestFirst ? ["<=", "DESC"] : [">=", "ASC"];
    const query = `SELECT seq FROM mentions WHERE key = ? AND seq ${compare} ? ORDER BY seq ${order} LIMIT 1`;
    return columnOf<number>(this.#sql, query, key, this.#at)[0] ?? null;
  }
}

/** Walks over all numbers of a range, in order. */
export class FullScan {
  #at: number;
  readonly #newestFirst: boolean;
  readonly #end: number;

  constructor({ first, last }: SeqRange, newestFirst: boolean) {
    this.#newestFirst = newestFirst;
    this.#at = newestFirst ? last : first;
    this.#end = newestFirst ? first : last;
  }

  next(): number | "end" {
    const seq = this.#at;
    if (this.#newestFirst ? seq < this.#end : seq > this.#end) return "end";
    this.#at += this.#newestFirst ? -1 : 1;
    return seq;
  }

  get at(): number {
    return this.#at;
  }
}
