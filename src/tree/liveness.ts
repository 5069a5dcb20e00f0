import { earliest, type Ms } from "../base/clock.ts";
import { GenerationalCache } from "../base/generational-cache.ts";
import { columnOf } from "../storage/tables.ts";
import { isEnded, type Watermarks } from "../system/watermarks.ts";
import { LIVE, REVOKED, REVOKED_ALONE, type TokenEnd } from "../token/end-record.ts";
import type { TokenRow, TokenRows } from "./token-rows.ts";

/** Maximum number of rows that an object remembers as not ended by any watermark. */
const MAX_VALIDATED_ROWS = 2 ** 12;

/**
 * SQL: a row and its ancestors, up to a token that was revoked alone, whose children count as orphans. The parent
 * column is not sealed: UNION ends in a forged cycle, and UNION ALL would not.
 */
const UP = `WITH RECURSIVE up (row, parent, state, expires_at) AS (
  SELECT row, parent, state, expires_at FROM tokens WHERE row = ?1
  UNION
  SELECT t.row, t.parent, t.state, t.expires_at
  FROM up JOIN tokens t ON t.row = up.parent WHERE up.state <> ${REVOKED_ALONE}
)`;

/**
 * Which tokens of a tree are alive: a token is alive only if its ancestors are. The sweep deletes the descendants of a
 * dead token, so ancestors are read only while a dead token may wait for the sweep: `#hasDead` and `#earliestExpiry`.
 */
export class Liveness {
  readonly #rows: Pick<TokenRows, "sql" | "find" | "exists">;
  readonly #watermarks: () => Watermarks;
  #hasDead = false;
  /** No token expires before this; null when none expires. */
  #earliestExpiry: Ms | null = null;
  /** Rows that, with their ancestors, no watermark of `#validatedBy` ends. The fields that they test never change. */
  #validated = new GenerationalCache<number, true>(MAX_VALIDATED_ROWS);
  #validatedBy: Watermarks | null = null;
  /** Rows that sweeps are deleting, see `keepDead`. */
  readonly #kept = new Set<readonly number[]>();

  constructor(rows: Pick<TokenRows, "sql" | "find" | "exists">, watermarks: () => Watermarks) {
    this.#rows = rows;
    this.#watermarks = watermarks;
  }

  /** Resets the state, for a tree without tokens. */
  forget(): void {
    this.#hasDead = false;
    this.#earliestExpiry = null;
  }

  noteDead(): void {
    this.#hasDead = true;
  }

  /**
   * Keeps dead tokens dead until the returned function is called. A sweep deletes them in several steps. If the clock is
   * set back meanwhile, an expired token would be alive again: it could be renewed, and the sweep would still delete it.
   */
  keepDead(rows: readonly number[]): () => void {
    this.#kept.add(rows);
    return () => void this.#kept.delete(rows);
  }

  noteExpiry(expiresAt: Ms | null): void {
    this.#earliestExpiry = earliest(this.#earliestExpiry, expiresAt);
  }

  /** Reads the state from the rows. Needed after a wake-up and after a sweep. */
  refresh(): void {
    if (!this.#rows.sql.exist) return;
    type Found = { dead: number; earliest: Ms | null };
    const query = `SELECT EXISTS (SELECT 1 FROM tokens WHERE state <> 0) AS dead,
      (SELECT MIN(expires_at) FROM tokens WHERE expires_at IS NOT NULL) AS earliest`;
    const { dead, earliest } = this.#rows.sql.exec<Found>(query).one();
    this.#hasDead = dead !== 0;
    this.#earliestExpiry = earliest;
  }

  /** True while a revoked row may wait for the sweep. */
  get hasDead(): boolean {
    return this.#hasDead;
  }

  /** When the sweep has work: `now` while revoked rows wait, null when nothing will ever end. */
  nextSweepAt(now: Ms): Ms | null {
    return this.#hasDead ? now : this.#earliestExpiry;
  }

  /** Why the token of a row can't be used at `now`; null while it is alive, with every ancestor. */
  endOf({ row, state, usesLeft, expiresAt, parent, fixed }: TokenRow, now: Ms): TokenEnd | null {
    if (state !== LIVE) return usesLeft < 0 ? "spent" : "revoked";
    if (expiresAt !== null && expiresAt <= now) return "expired";
    if (isEnded(this.#watermarks(), "all", fixed.record)) return "ended_together";
    if (this.#isKeptDead(row)) return parent === null ? "expired" : "parent_ended";
    if (parent === null) return null;
    if (this.#mayHaveDead(now) && this.#isDeadAbove(parent, now)) return "parent_ended";
    return this.#isEndedAbove(parent) ? "parent_ended" : null;
  }

  /**
   * Until when a token that is alive at `now` stays alive if nothing changes; null: for ever. A child gets the
   * earliest expiry in the tree, which is a lower bound. While dead rows wait for the sweep, its ancestors are read.
   */
  aliveUntil({ parent, expiresAt }: TokenRow, now: Ms): Ms | null {
    if (parent === null) return expiresAt;
    if (!this.#mayHaveDead(now)) return this.#earliestExpiry;
    return earliest(expiresAt, this.#firstExpiryAbove(parent));
  }

  /** The row of the parent of a token; null when it has none, or when the parent was revoked alone. */
  parentOf({ parent }: TokenRow, now: Ms): number | null {
    if (parent === null || !this.#mayHaveDead(now)) return parent;
    const [state] = columnOf<number>(this.#rows.sql, "SELECT state FROM tokens WHERE row = ?", parent);
    return state === undefined || state === REVOKED_ALONE ? null : parent;
  }

  #isKeptDead(row: number): boolean {
    for (const rows of this.#kept) if (rows.includes(row)) return true;
    return false;
  }

  #mayHaveDead(now: Ms): boolean {
    return this.#hasDead || (this.#earliestExpiry !== null && this.#earliestExpiry <= now);
  }

  /**
   * True when a watermark ends `row` or an ancestor. Cleaned watermarks count too: the clean-up finds tokens by the
   * lists, and a crash can delay the listing of a token until after it. Remembers rows that are not ended, so that the
   * next look-up reads nothing.
   */
  #isEndedAbove(row: number): boolean {
    const watermarks = this.#watermarks();
    if (watermarks.all.size === 0) return false;
    if (this.#validatedBy !== watermarks) this.#validated = new GenerationalCache(MAX_VALIDATED_ROWS);
    this.#validatedBy = watermarks;
    const passed = new Set<number>();
    // The parent column is not sealed: `passed` also ends the walk in a forged cycle.
    for (let at: number | null = row; at !== null && !passed.has(at) && !this.#validated.get(at); ) {
      const found: TokenRow | null = this.#rows.find(at);
      // The row is forged: a watermark may end the token of the original row. The clean-up revokes forged rows.
      if (!found && watermarks.open.size > 0 && this.#rows.exists(at)) return true;
      if (!found || found.state === REVOKED_ALONE) break;
      if (isEnded(watermarks, "all", found.fixed.record)) return true;
      passed.add(at);
      at = found.parent;
    }
    for (const above of [...passed].slice(0, MAX_VALIDATED_ROWS)) this.#validated.set(above, true, 1);
    return false;
  }

  /** True when `row` or an ancestor was revoked or has expired at `now`. For the end of the walk see `UP`. */
  #isDeadAbove(row: number, now: Ms): boolean {
    const isDead = `state = ${REVOKED} OR (state = ${LIVE} AND expires_at <= ?2)`;
    return this.#rows.sql.exec(`${UP} SELECT 1 FROM up WHERE ${isDead} LIMIT 1`, row, now).toArray().length > 0;
  }

  /** The earliest expiry among `row` and its ancestors that are not revoked; null: none of them expires. */
  #firstExpiryAbove(row: number): Ms | null {
    const query = `${UP} SELECT MIN(expires_at) FROM up WHERE state = ${LIVE}`;
    return columnOf<number | null>(this.#rows.sql, query, row)[0] ?? null;
  }
}
