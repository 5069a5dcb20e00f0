import { REVOKED } from "../../token/state.ts";

/**
 * Dead tokens that a plan has at most, about: 4 MiB of row numbers, sorted in 40 ms. Of a larger tree a plan has the children of
 * some parents only; when those stand far apart, each deletion writes a page of its own.
 */
const MAX_PLANNED = 2 ** 19;
/** Revoked tokens that are read at once. */
const READ_AT_ONCE = 32;

/** Row numbers have more than 32 bits. */
const NONE = new Float64Array();

interface DeadRow extends Record<string, SqlStorageValue> {
  row: number;
  has_children: number;
}

/** SQL: whether the token `t` has children. */
export const HAS_CHILDREN = "EXISTS (SELECT 1 FROM tokens c WHERE c.parent = t.row) AS has_children";

/**
 * The order in which a sweep deletes many tokens without children: that of their rows, so that pages of the table and of the lists
 * are written once. A plan has tokens that were revoked with all below them, and children of such ones: they are dead
 * whatever the clock shows, and nothing can come to hang below them. It is memory only: what it has and is not deleted is found again.
 */
export class SweepPlan {
  readonly #sql: SqlStorage;
  /** Those found so far, while the plan is made. */
  #found: number[] = [];
  #rows = NONE;
  /** So many of them were taken. */
  #taken = 0;
  #isBeingMade = false;
  /** Revoked tokens that were read and not looked at. */
  #revoked: DeadRow[] = [];
  /** The last one of them. */
  #last = 0;
  /** Whose children are being read, and the last one of them that was; null: of no token. */
  #parent: { readonly row: number; readonly after: number } | null = null;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** True while it takes more looks until rows can be taken. */
  get isBeingMade(): boolean {
    return this.#isBeingMade;
  }

  /** Begins a new plan. */
  begin(): void {
    this.forget();
    this.#isBeingMade = true;
  }

  /** Drops what is planned: in an object that stays awake it would stay in memory. */
  forget(): void {
    this.#found = [];
    this.#rows = NONE;
    this.#taken = 0;
    this.#isBeingMade = false;
    this.#revoked = [];
    this.#last = 0;
    this.#parent = null;
  }

  /** The next rows, at most `limit`; none when all were taken. */
  take(limit: number): number[] {
    const rows = Array.from(this.#rows.subarray(this.#taken, this.#taken + limit));
    this.#taken += rows.length;
    return rows;
  }

  /** So many of those that were taken last are to be taken again. */
  putBack(count: number): void {
    this.#taken -= count;
  }

  /**
   * Looks for more of what is dead.
   *
   * @param limit rows that it reads, about.
   * @returns tokens with children below a dead one: the caller gives them the mark and cuts them off, and they are looked at in turn.
   */
  look(limit: number): number[] {
    const inner: number[] = [];
    for (let left = limit; left > 0 && this.#isBeingMade; left--) {
      if (this.#parent) left -= this.#lookBelow(this.#parent, left, inner);
      else if (!this.#lookAtNext() || this.#found.length >= MAX_PLANNED) this.#isMade();
    }
    return inner;
  }

  /** False when there are no more revoked tokens. */
  #lookAtNext(): boolean {
    if (this.#revoked.length === 0) this.#revoked = this.#read();
    const next = this.#revoked.shift();
    if (!next) return false;
    this.#last = next.row;
    if (next.has_children === 0) this.#found.push(next.row);
    else this.#parent = { row: next.row, after: 0 };
    return true;
  }

  #lookBelow(parent: { readonly row: number; readonly after: number }, limit: number, inner: number[]): number {
    const query = `SELECT row, ${HAS_CHILDREN} FROM tokens t WHERE parent = ? AND row > ? ORDER BY row LIMIT ?`;
    const children = this.#sql.exec<DeadRow>(query, parent.row, parent.after, limit).toArray();
    for (const { row, has_children } of children) (has_children === 0 ? this.#found : inner).push(row);
    const last = children.at(-1);
    this.#parent = last && children.length === limit ? { row: parent.row, after: last.row } : null;
    return children.length;
  }

  #read(): DeadRow[] {
    // The index has rows whose state is not 0 alone, and SQLite does not conclude that by itself.
    const query = `SELECT row, ${HAS_CHILDREN} FROM tokens t
      WHERE state = ${REVOKED} AND state <> 0 AND row > ? ORDER BY row LIMIT ?`;
    return this.#sql.exec<DeadRow>(query, this.#last, READ_AT_ONCE).toArray();
  }

  #isMade(): void {
    this.#isBeingMade = false;
    this.#revoked = [];
    const sorted = Float64Array.from(this.#found).sort();
    // A token that was revoked before its parent was found twice.
    this.#rows = sorted.filter((row, at) => row !== sorted[at - 1]);
    this.#found = [];
  }
}
