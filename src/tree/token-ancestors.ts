import { GenerationalCache } from "../base/generational-cache.ts";
import type { Sql } from "../storage/tables.ts";
import { isEnded, type Watermarks } from "../system/watermarks.ts";
import { LIVE, REVOKED, REVOKED_ALONE } from "../token/state.ts";
import type { TokenRow, TokenRows } from "./token-rows.ts";

/** Rows of which an object remembers that no watermark ends them. */
const MAX_VALIDATED_ROWS = 2 ** 12;

/**
 * SQL: a row and those above it, up to one that was revoked alone: what is below that has no parent any more. Parents have no seal: UNION
 * ends in a forged circle, and UNION ALL would not.
 */
const UP = `WITH RECURSIVE up (row, parent, state, expires_at) AS (
  SELECT row, parent, state, expires_at FROM tokens WHERE row = ?1
  UNION
  SELECT t.row, t.parent, t.state, t.expires_at
  FROM up JOIN tokens t ON t.row = up.parent WHERE up.state <> ${REVOKED_ALONE}
)`;

/** Whether the ancestors of a token end it. */
export class TokenAncestors {
  readonly #sql: Sql;
  readonly #rows: TokenRows;
  readonly #watermarks: () => Watermarks;
  /** Rows that no watermark of `#validatedBy` ends, with their ancestors; a token keeps its number and so stays above them. */
  #validated = new GenerationalCache<number, true>(MAX_VALIDATED_ROWS);
  #validatedBy: Watermarks | null = null;

  constructor(sql: Sql, rows: TokenRows, watermarks: () => Watermarks) {
    this.#sql = sql;
    this.#rows = rows;
    this.#watermarks = watermarks;
  }

  /**
   * True when a watermark ends `row` or a token above it. Walks up only while a watermark may end tokens that are not revoked yet,
   * and remembers what it found not to be ended: the next look-up reads nothing.
   */
  isEnded(row: number): boolean {
    const watermarks = this.#watermarks();
    if (watermarks.open.size === 0) return false;
    if (this.#validatedBy !== watermarks) this.#validated = new GenerationalCache(MAX_VALIDATED_ROWS);
    this.#validatedBy = watermarks;
    const passed = new Set<number>();
    // Parents have no seal: the walk ends in a forged circle, too.
    for (let at: number | null = row; at !== null && !passed.has(at) && !this.#validated.get(at); ) {
      const found: TokenRow | null = this.#rows.find(at);
      // A watermark may end a token whose record was changed.
      if (!found && this.#rows.exists(at)) return true;
      if (!found || found.state === REVOKED_ALONE) break;
      if (isEnded(watermarks, "open", found.fixed.record)) return true;
      passed.add(at);
      at = found.parent;
    }
    for (const above of [...passed].slice(0, MAX_VALIDATED_ROWS)) this.#validated.set(above, true, 1);
    return false;
  }

  /** True when `row` or a token above it was revoked or has expired at `now` (ms). The walk ends at a token that was revoked alone: what is below it has no parent any more. */
  isDead(row: number, now: number): boolean {
    const dead = this.#sql.exec(
      `${UP} SELECT 1 FROM up WHERE state = ${REVOKED} OR (state = ${LIVE} AND expires_at <= ?2) LIMIT 1`,
      row,
      now,
    );
    return dead.toArray().length > 0;
  }

  /** When the first of `row` and those above it ends that are not dead (ms); null: none of them ends. */
  firstExpiry(row: number): number | null {
    return this.#sql
      .exec<{ first: number | null }>(`${UP} SELECT MIN(expires_at) AS first FROM up WHERE state = ${LIVE}`, row)
      .one().first;
  }
}
