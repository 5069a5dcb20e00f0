import type { Sql } from "../../storage/tables.ts";
import { REVOKED } from "../../token/end-record.ts";

/**
 * Approximate maximum of dead tokens in a plan: 4 MiB of row numbers, sorted in 40 ms. In a larger tree it has the
 * children of some parents only; when their rows are far apart, each deletion writes a page of its own.
 */
const MAX_PLANNED = 2 ** 19;
/** Revoked tokens that one query reads, and children of one of them. */
const REVOKED_AT_ONCE = 32;
const CHILDREN_AT_ONCE = 100;

/** An empty plan. Row numbers have more than 32 bits, so they are stored as doubles. */
const NONE = new Float64Array();

type DeadRow = { row: number; has_children: number };

/** SQL: whether the token `t` has children. */
export const HAS_CHILDREN = "EXISTS (SELECT 1 FROM tokens c WHERE c.parent = t.row) AS has_children";

/**
 * The order in which a sweep deletes many tokens without children: that of their rows, so that pages of the table and
 * of the lists are written once. A plan has tokens that were revoked with their descendants, and children of such
 * tokens. They stay dead if the clock is set back, and no child can be created below them. The plan is in memory only:
 * tokens that were planned and not deleted are found again.
 */
export class SweepPlan {
  readonly #sql: Sql;
  /** Finds the rows, while the plan is being made. */
  #search: Generator<DeadRow, void> | null = null;
  #found: number[] = [];
  /** The finished plan. */
  #rows = NONE;
  /** Number of `#rows` that were taken. */
  #taken = 0;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** True while the plan needs more calls of `look` before rows can be taken. */
  get isBeingMade(): boolean {
    return this.#search !== null;
  }

  begin(): void {
    this.forget();
    this.#search = this.#deadRows();
  }

  /** Drops the plan, which would stay in memory as long as the object is awake. */
  forget(): void {
    this.#search = null;
    this.#found = [];
    this.#rows = NONE;
    this.#taken = 0;
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
   * Adds about `limit` dead tokens to the plan. Returns children of a dead token that have children themselves. The
   * caller marks and detaches them, and a later look, or the next plan, processes them as revoked tokens.
   */
  look(limit: number): number[] {
    const inner: number[] = [];
    for (let left = limit; left > 0 && this.#search; left--) {
      const next = this.#search.next();
      if (next.done || this.#found.length >= MAX_PLANNED) this.#isMade();
      else (next.value.has_children === 0 ? this.#found : inner).push(next.value.row);
    }
    return inner;
  }

  /** Revoked tokens without children, and the children of the others. */
  *#deadRows(): Generator<DeadRow, void> {
    // The index is partial: `state <> 0`. SQLite uses it only if the query repeats that condition.
    const revoked = `state = ${REVOKED} AND state <> 0`;
    for (const token of this.#pages(revoked, [], REVOKED_AT_ONCE)) {
      if (token.has_children === 0) yield token;
      else yield* this.#pages("parent = ?", [token.row], CHILDREN_AT_ONCE);
    }
  }

  /** The tokens with `condition` in the order of their rows, `limit` read at once. */
  *#pages(condition: string, values: readonly number[], limit: number): Generator<DeadRow, void> {
    const query = `SELECT row, ${HAS_CHILDREN} FROM tokens t WHERE ${condition} AND row > ? ORDER BY row LIMIT ?`;
    for (let last = 0, more = true; more; ) {
      const page = this.#sql.exec<DeadRow>(query, ...values, last, limit).toArray();
      yield* page;
      last = page.at(-1)?.row ?? last;
      more = page.length === limit;
    }
  }

  #isMade(): void {
    this.#search = null;
    const sorted = Float64Array.from(this.#found).sort();
    // A token that was revoked itself, and is the child of a revoked one, was found twice.
    this.#rows = sorted.filter((row, at) => row !== sorted[at - 1]);
    this.#found = [];
  }
}
