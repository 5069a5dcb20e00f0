import type { Sql } from "./tables.ts";

/** The tables of ranked indexes, for the first migration of an object that has some. */
export const RANKED_INDEX_TABLES = `
  CREATE TABLE ranks (sort TEXT NOT NULL, key NOT NULL, row INTEGER NOT NULL, PRIMARY KEY (sort, key, row)) WITHOUT ROWID;
  CREATE TABLE rank_blocks (
    sort TEXT NOT NULL, key NOT NULL, row INTEGER NOT NULL, count INTEGER NOT NULL,
    PRIMARY KEY (sort, key, row)
  ) WITHOUT ROWID;
  CREATE TABLE rank_totals (sort TEXT PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID;
`;

/** Entries of a block before it is split in two. */
const MAX_BLOCK = 512;
/** Neighbours that hold no more than this together become one block. */
const MERGE_BLOCKS = MAX_BLOCK / 2;

/** Below every key (strings, and numbers from 0) and row (from 1): where the first block of a sort begins. */
const LOWEST = { key: -1, row: 0 } as const;

/** What entries are sorted by; entries with equal keys are sorted by row. All keys of one sort are of one type. */
export type RankKey = string | number;

interface Block extends Record<string, SqlStorageValue> {
  /** The lowest entry that belongs to the block, existing or not. */
  key: RankKey;
  row: number;
  count: number;
}

/**
 * Sorted lists of rows that any page can be read from at about the same cost: page numbers count entries, and an index
 * alone would have to step over all entries before the page. So the entries of a sort are counted in blocks; the way to a
 * page goes over the blocks from the nearer end and then through one block.
 *
 * A page of n out of N entries reads at most N / 256 + 512 + n rows.
 */
export class RankedIndex {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** Adds an entry, which must not be there. */
  add(sort: string, key: RankKey, row: number): void {
    this.#sql.exec("INSERT INTO ranks (sort, key, row) VALUES (?, ?, ?)", sort, key, row);
    this.#sql.exec(
      `INSERT INTO rank_totals (sort, count) VALUES (?, 1) ON CONFLICT (sort) DO UPDATE SET count = count + 1`,
      sort,
    );
    const block = this.#blockOf(sort, key, row);
    if (!block) this.#insertBlock(sort, { ...LOWEST, count: 1 });
    else if (block.count < MAX_BLOCK) this.#setCount(sort, block, block.count + 1);
    else this.#split(sort, block, block.count + 1);
  }

  /** Removes an entry, which must be there. */
  remove(sort: string, key: RankKey, row: number): void {
    const removed = this.#sql.exec("DELETE FROM ranks WHERE sort = ? AND key = ? AND row = ?", sort, key, row);
    const block = this.#blockOf(sort, key, row);
    if (removed.rowsWritten === 0 || !block) throw new Error("the entry is not in the ranked index");
    this.#sql.exec("UPDATE rank_totals SET count = count - 1 WHERE sort = ?", sort);
    this.#setCount(sort, block, block.count - 1);
    this.#merge(sort, { ...block, count: block.count - 1 });
  }

  /** How many entries the sort has. */
  count(sort: string): number {
    const total = this.#sql.exec<{ count: number }>("SELECT count FROM rank_totals WHERE sort = ?", sort).toArray()[0];
    return total?.count ?? 0;
  }

  /** The rows of at most `limit` entries after the first `offset`, counted from the end when `reverse`. */
  page(sort: string, offset: number, limit: number, reverse: boolean): number[] {
    const total = this.count(sort);
    const size = Math.min(limit, total - offset);
    if (size <= 0) return [];
    if (!reverse) return this.#rows(sort, offset, size, total);
    return this.#rows(sort, total - offset - size, size, total).reverse();
  }

  #rows(sort: string, offset: number, limit: number, total: number): number[] {
    const { block, before } = this.#blockAt(sort, offset, total);
    return this.#sql
      .exec<{ row: number }>(
        "SELECT row FROM ranks WHERE sort = ? AND (key, row) >= (?, ?) ORDER BY key, row LIMIT ? OFFSET ?",
        sort,
        block.key,
        block.row,
        limit,
        offset - before,
      )
      .toArray()
      .map(({ row }) => row);
  }

  /** The block that holds the entry number `offset` (from 0), and how many entries come before the block. */
  #blockAt(sort: string, offset: number, total: number): { block: Block; before: number } {
    const forward = offset < total / 2;
    const blocks = this.#sql.exec<Block>(
      `SELECT key, row, count FROM rank_blocks WHERE sort = ? ORDER BY ${forward ? "key, row" : "key DESC, row DESC"}`,
      sort,
    );
    let before = forward ? 0 : total;
    // A cursor reads as it goes: what comes after the block is never read.
    for (const block of blocks) {
      if (!forward) before -= block.count;
      if (forward ? offset < before + block.count : before <= offset) return { block, before };
      if (forward) before += block.count;
    }
    throw new Error("the counts of the ranked index do not add up");
  }

  #blockOf(sort: string, key: RankKey, row: number): Block | undefined {
    return this.#nextBlock(sort, key, row, "<=");
  }

  #nextBlock(sort: string, key: RankKey, row: number, side: "<" | "<=" | ">"): Block | undefined {
    const order = side === ">" ? "key, row" : "key DESC, row DESC";
    return this.#sql
      .exec<Block>(
        `SELECT key, row, count FROM rank_blocks WHERE sort = ? AND (key, row) ${side} (?, ?) ORDER BY ${order} LIMIT 1`,
        sort,
        key,
        row,
      )
      .toArray()[0];
  }

  #insertBlock(sort: string, block: Block): void {
    this.#sql.exec(
      "INSERT INTO rank_blocks (sort, key, row, count) VALUES (?, ?, ?, ?)",
      sort,
      block.key,
      block.row,
      block.count,
    );
  }

  #setCount(sort: string, block: Block, count: number): void {
    this.#sql.exec(
      "UPDATE rank_blocks SET count = ? WHERE sort = ? AND key = ? AND row = ?",
      count,
      sort,
      block.key,
      block.row,
    );
  }

  #split(sort: string, block: Block, count: number): void {
    const kept = Math.floor(count / 2);
    const middle = this.#sql
      .exec<{ key: RankKey; row: number }>(
        "SELECT key, row FROM ranks WHERE sort = ? AND (key, row) >= (?, ?) ORDER BY key, row LIMIT 1 OFFSET ?",
        sort,
        block.key,
        block.row,
        kept,
      )
      .one();
    this.#setCount(sort, block, kept);
    this.#insertBlock(sort, { ...middle, count: count - kept });
  }

  /** Keeps blocks from dwindling: of any two neighbours that were touched, one is joined to the other when both are small. */
  #merge(sort: string, block: Block): void {
    if (block.count > MERGE_BLOCKS) return;
    const next = this.#nextBlock(sort, block.key, block.row, ">");
    if (next && this.#join(sort, block, next)) return;
    const previous = this.#nextBlock(sort, block.key, block.row, "<");
    if (previous) this.#join(sort, previous, block);
  }

  #join(sort: string, lower: Block, upper: Block): boolean {
    const count = lower.count + upper.count;
    if (count > MERGE_BLOCKS) return false;
    this.#sql.exec("DELETE FROM rank_blocks WHERE sort = ? AND key = ? AND row = ?", sort, upper.key, upper.row);
    this.#setCount(sort, lower, count);
    return true;
  }
}
