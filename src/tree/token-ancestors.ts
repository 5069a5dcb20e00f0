import { GenerationalCache } from "../base/generational-cache.ts";
import type { Sql } from "../storage/tables.ts";
import { isEnded, type Watermarks } from "../system/watermarks.ts";
import { LIVE, REVOKED, REVOKED_ALONE } from "../token/state.ts";
import type { TokenRow, TokenRows } from "./token-rows.ts";

/** Maximum number of rows that an object remembers as not ended by any watermark. */
const MAX_VALIDATED_ROWS = 2 ** 12;

/**
 * SQL: a row and its ancestors, up to one that was revoked alone: the children of that one have no parent any more. The
 * parent column is not sealed: UNION ends in a forged cycle, and UNION ALL would not.
 */
const UP = `WITH RECURSIVE up (row, parent, state, expires_at) AS (
  SELECT row, parent, state, expires_at FROM tokens WHERE row = ?1
  UNION
  SELECT t.row, t.parent, t.state, t.expires_at
  FROM up JOIN tokens t ON t.row = up.parent WHERE up.state <> ${REVOKED_ALONE}
)`;

/** Checks whether an ancestor of a token ends it. */
export class TokenAncestors {
  readonly #sql: Sql;
  readonly #rows: TokenRows;
  readonly #watermarks: () => Watermarks;
  /** Rows that, with their ancestors, no watermark of `#validatedBy` ends. What watermarks test never changes. */
  #validated = new GenerationalCache<number, true>(MAX_VALIDATED_ROWS);
  #validatedBy: Watermarks | null = null;

  constructor(sql: Sql, rows: TokenRows, watermarks: () => Watermarks) {
    this.#sql = sql;
    this.#rows = rows;
    this.#watermarks = watermarks;
  }

  /**
   * True when a watermark ends `row` or an ancestor. Walks up only while a watermark may end tokens that are not
   * revoked yet, and remembers rows that are not ended, so that the next look-up reads nothing.
   */
  isEnded(row: number): boolean {
    const watermarks = this.#watermarks();
    if (watermarks.open.size === 0) return false;
    if (this.#validatedBy !== watermarks) this.#validated = new GenerationalCache(MAX_VALIDATED_ROWS);
    this.#validatedBy = watermarks;
    const passed = new Set<number>();
    // The parent column is not sealed: `passed` also ends the walk in a forged cycle.
    for (let at: number | null = row; at !== null && !passed.has(at) && !this.#validated.get(at); ) {
      const found: TokenRow | null = this.#rows.find(at);
      // The row is forged: a watermark may end the token of the original row.
      if (!found && this.#rows.exists(at)) return true;
      if (!found || found.state === REVOKED_ALONE) break;
      if (isEnded(watermarks, "open", found.fixed.record)) return true;
      passed.add(at);
      at = found.parent;
    }
    for (const above of [...passed].slice(0, MAX_VALIDATED_ROWS)) this.#validated.set(above, true, 1);
    return false;
  }

  /** True when `row` or an ancestor was revoked or has expired at `now` (ms). For the end of the walk see `UP`. */
  isDead(row: number, now: number): boolean {
    const dead = this.#sql.exec(
      `${UP} SELECT 1 FROM up WHERE state = ${REVOKED} OR (state = ${LIVE} AND expires_at <= ?2) LIMIT 1`,
      row,
      now,
    );
    return dead.toArray().length > 0;
  }

  /** The earliest expiry (ms) among `row` and its ancestors that are not revoked; null: none of them expires. */
  firstExpiry(row: number): number | null {
    return this.#sql
      .exec<{ first: number | null }>(`${UP} SELECT MIN(expires_at) AS first FROM up WHERE state = ${LIVE}`, row)
      .one().first;
  }
}
