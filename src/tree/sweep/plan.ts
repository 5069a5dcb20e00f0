import { REVOKED } from "../../token/state.ts";

/**
 * Approximate maximum of dead tokens in a plan: 4 MiB of row numbers, sorted in 40 ms. The plan of a larger tree has
 * the children of some parents only; when their rows are far apart, each deletion writes a page of its own.
 */
const MAX_PLANNED = 2 ** 19;
/** Revoked tokens that one query reads. */
const READ_AT_ONCE = 32;

/** An empty plan. Row numbers have more than 32 bits, so they are stored as doubles. */
const NONE = new Float64Array();

interface DeadRow extends Record<string, SqlStorageValue> {
  row: number;
  has_children: number;
}

/** SQL: whether the token `t` has children. */
export const HAS_CHILDREN = "EXISTS (SELECT 1 FROM tokens c WHERE c.parent = t.row) AS has_children";

/**
 * The order in which a sweep deletes many tokens without children: that of their rows, so that pages of the table and
 * of the lists are written once. A plan has tokens that were revoked with their descendants, and children of such
 * tokens. They stay dead if the clock is set back, and no child can be created below them. The plan is in memory only:
 * tokens that were planned and not deleted are found again.
 */
export class SweepPlan {
  readonly #sql: SqlStorage;
  /** Rows found so far, while the plan is being made. */
  #found: number[] = [];
  #rows = NONE;
  /** Number of `#rows` that were taken. */
  #taken = 0;
  #isBeingMade = false;
  /** Revoked tokens that were read and are not processed yet. */
  #revoked: DeadRow[] = [];
  /** Row of the last revoked token that was processed. */
  #last = 0;
  /** The token whose children are being read, and the last child that was read; null: none. */
  #parent: { readonly row: number; readonly after: number } | null = null;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** True while the plan needs more calls of `look` before rows can be taken. */
  get isBeingMade(): boolean {
    return this.#isBeingMade;
  }

  /** Begins a new plan. */
  begin(): void {
    this.forget();
    this.#isBeingMade = true;
  }

  /** Drops the plan, which would stay in memory as long as the object is awake. */
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

  /** Puts back the last `count` rows that were taken. */
  putBack(count: number): void {
    this.#taken -= count;
  }

  /**
   * Adds more dead tokens to the plan.
   *
   * @param limit approximate number of rows that it reads.
   * @returns rows of children of a dead token that have children themselves. The caller marks and detaches them, and a
   *   later look processes them as revoked tokens.
   */
  look(limit: number): number[] {
    const inner: number[] = [];
    for (let left = limit; left > 0 && this.#isBeingMade; left--) {
      if (this.#parent) left -= this.#lookBelow(this.#parent, left, inner);
      else if (!this.#lookAtNext() || this.#found.length >= MAX_PLANNED) this.#isMade();
    }
    return inner;
  }

  /** Processes the next revoked token. False when there is none. */
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
    // The index is partial: `state <> 0`. SQLite uses it only if the query repeats that condition.
    const query = `SELECT row, ${HAS_CHILDREN} FROM tokens t
      WHERE state = ${REVOKED} AND state <> 0 AND row > ? ORDER BY row LIMIT ?`;
    return this.#sql.exec<DeadRow>(query, this.#last, READ_AT_ONCE).toArray();
  }

  #isMade(): void {
    this.#isBeingMade = false;
    this.#revoked = [];
    const sorted = Float64Array.from(this.#found).sort();
    // A token that was revoked itself, and is the child of a revoked one, was found twice.
    this.#rows = sorted.filter((row, at) => row !== sorted[at - 1]);
    this.#found = [];
  }
}
