import { currentTime, type Ms, type Seconds } from "../base/clock.ts";
import { concat, equalBytes } from "../crypto/bytes.ts";
import { columnOf, type Migration, readVersions, Tables } from "../storage/tables.ts";
import { type Actor, NO_ORIGIN, type RevocationOrigin } from "../system/revocation-origin.ts";
import {
  type EndRecord,
  endByWatermark,
  type HowEnded,
  LIVE,
  REVOKED,
  type RevokedState,
} from "../token/end-record.ts";
import type { NewTokenIds, RowAndTail } from "../token/ids.ts";
import type { TokenSpec, TokenView } from "../token/record.ts";
import { floorAfter } from "./lifecycle.ts";
import { Liveness } from "./liveness.ts";
import { type RowChecks, sealToken, TOKEN_INDEX_MIGRATIONS, type TokenRow, TokenRows } from "./token-rows.ts";
import { ListingMark } from "./updates/unlisted-tokens.ts";

export const ROW_FLOOR_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "the greatest row number that a deleted token may have had",
    sql: "CREATE TABLE row_floor (id INTEGER PRIMARY KEY CHECK (id = 0), row INTEGER NOT NULL);",
  },
];

/** The table of tokens of one tree. */
export class TreeStore extends TokenRows {
  readonly #indexes: Tables;
  readonly listing: ListingMark;
  readonly liveness = new Liveness(this, () => this.keys.watermarks());
  readonly #floors: Tables;
  /**
   * The row number up to which a tree writes no token. Batch tokens, leases and sealed values identify their token in
   * the tree by its row number alone. So the number of a deleted token must never become another token's: not when the
   * clock is set back, and not after the tree was freed and allocated again.
   *
   * Invariant: the number of every token that was deleted is at or below the floor.
   */
  #floor: number;
  readonly #invalidate: () => void;
  /**
   * @param invalidate called in the step that ends a token or changes what a look-up of one shows, except for its uses
   *   and the passing of time. Not called when a watermark ends tokens: a published token is valid only for the
   *   watermarks that it was checked against.
   */
  constructor(
    sql: SqlStorage,
    treeId: string,
    keys: RowChecks,
    invalidate: () => void = () => {},
    versions = readVersions(sql),
  ) {
    super(sql, treeId, keys, versions);
    this.#invalidate = invalidate;
    this.#indexes = new Tables(sql, TOKEN_INDEX_MIGRATIONS, "indexes", versions);
    this.listing = new ListingMark(sql, versions);
    this.#floors = new Tables(sql, ROW_FLOOR_MIGRATIONS, "row_floor", versions);
    this.#floor = columnOf<number>(this.#floors, "SELECT row FROM row_floor")[0] ?? 0;
  }

  /** False without tables, and so without tokens: the tree was never created, or its storage was deleted. */
  get isCreated(): boolean {
    return this.sql.exist;
  }

  /** Resets the store after its storage was deleted. @param keepsFloor true: new rows stay above deleted ones. */
  forget(keepsFloor: boolean): void {
    this.#invalidate();
    this.sql.forget();
    this.#indexes.forget();
    this.listing.forget();
    this.liveness.forget();
    if (!keepsFloor) return;
    const floor = this.#floor;
    this.#floor = 0;
    this.#floors.forget();
    this.#raiseFloor(floor);
  }

  /** Prepares for the first token of a tree that is new or was freed. */
  begin(): void {
    this.liveness.forget();
    this.listing.begin();
  }

  /** True when the tree has never had a second token since it was started. */
  get isSingle(): boolean {
    return !this.listing.exists;
  }

  /** The row with this number if its token is alive at `now`, with every ancestor; else null. */
  live(row: number, now: Ms): TokenRow | null {
    const found = this.find(row);
    return found && this.liveness.endOf(found, now) === null ? found : null;
  }

  /** `live`, for a token named by its row and the tail of its accessor. */
  liveNamed({ row, tail }: RowAndTail, now: Ms): TokenRow | null {
    const found = this.live(row, now);
    return found && equalBytes(found.fixed.accessorTail, tail) ? found : null;
  }

  /** What the tree shows of a token at `now`. */
  view(token: TokenRow, now: Ms): TokenView {
    const { row, usesLeft, grantedTtl, expiresAt, renewedAt, fixed } = token;
    const { record, accessor } = fixed;
    const orphan = this.liveness.parentOf(token, now) === null;
    return { ...record, treeId: this.treeId, row, accessor, orphan, usesLeft, grantedTtl, expiresAt, renewedAt };
  }

  /** Number of children of the token. Reads them all. */
  countChildren(row: number): number {
    return columnOf<number>(this.sql, "SELECT COUNT(*) FROM tokens WHERE parent = ?", row)[0] ?? 0;
  }

  /** Number of tokens that have a parent. Reads them all. */
  countBelow(): number {
    return columnOf<number>(this.sql, "SELECT COUNT(*) FROM tokens WHERE parent IS NOT NULL")[0] ?? 0;
  }

  /** The row of the oldest token; null when there is none. */
  oldest(): number | null {
    return columnOf<number | null>(this.sql, "SELECT MIN(row) FROM tokens")[0] ?? null;
  }

  get isEmpty(): boolean {
    return this.hasOnly([]);
  }

  /** New tokens must have a greater row number than this one: a deleted token may have had any number up to it. */
  get floor(): number {
    return this.#floor;
  }

  /** True when the tree has no more tokens than `rows`: no others, if these exist. */
  hasOnly(rows: readonly number[]): boolean {
    return this.sql.exec("SELECT 1 FROM tokens LIMIT ?", rows.length + 1).toArray().length <= rows.length;
  }

  /**
   * Raises the row floor for rows that this transaction has deleted at `now`, so that their numbers are never used
   * again. `isReused`: the tree is used again when it is empty. See `floorAfter`.
   */
  deleted(rows: readonly number[], now: Ms, isReused: boolean): void {
    const highest = rows.reduce((max, row) => Math.max(max, row), 0);
    this.#raiseFloor(floorAfter(highest, this.isEmpty, isReused, now));
  }

  /**
   * Writes a new token. null: not written, as another token has, or may have had, the row number. For `isFirstCovered`
   * see `ListingMark.written`.
   */
  insert(spec: TokenSpec, ids: NewTokenIds, parent: number | null, isFirstCovered = true): TokenView | null {
    if (ids.row <= this.floor) return null;
    const { record, expiresAt } = spec;
    const recordJson = JSON.stringify(record);
    const seal = ids.seal ?? sealToken(this.keys.rowKeys(), this.treeId, { ...ids, recordJson });
    this.sql.create();
    if (parent !== null) {
      this.#indexes.create();
      // If the row number turns out to be taken, the token that has it is published again, which does no harm.
      this.listing.written(ids.row, isFirstCovered);
    }
    const { rowsWritten } = this.sql.exec(
      `INSERT INTO tokens (row, parent, verifier, accessor, state, uses_left, granted_ttl, expires_at, record)
       VALUES (?, ?, ?, ?, ${LIVE}, ?, ?, ?, ?) ON CONFLICT (row) DO NOTHING`,
      ids.row,
      parent,
      concat(ids.verifier, seal),
      ids.accessorTail,
      record.numUses,
      record.creationTtl,
      expiresAt,
      recordJson,
    );
    if (rowsWritten === 0) return null;
    this.liveness.noteExpiry(expiresAt);
    const place = { treeId: this.treeId, row: ids.row, accessor: ids.accessor, orphan: parent === null };
    const { numUses: usesLeft, creationTtl: grantedTtl } = record;
    return { ...record, ...place, usesLeft, grantedTtl, expiresAt, renewedAt: null };
  }

  /** `Liveness.keepDead`, for tokens that a sweep has found dead. */
  keepDead(rows: readonly number[]): () => void {
    this.#invalidate();
    return this.liveness.keepDead(rows);
  }

  renew(row: number, ttl: Seconds, expiresAt: Ms, now: Ms): void {
    this.#invalidate();
    const statement = "UPDATE tokens SET granted_ttl = ?, expires_at = ?, renewed_at = ? WHERE row = ?";
    this.sql.exec(statement, ttl, expiresAt, now, row);
    this.liveness.noteExpiry(expiresAt);
  }

  /** Counts one use and returns the uses left. The last one returns -1 and ends the token; `by` is the token itself. */
  countUse(row: number, left: number, by: Actor): number {
    if (left > 1) {
      this.sql.exec("UPDATE tokens SET uses_left = ? WHERE row = ?", left - 1, row);
      return left - 1;
    }
    this.#mark(row, REVOKED, { ...NO_ORIGIN, by, at: currentTime(), how: "uses spent" }, -1);
    return -1;
  }

  /**
   * Marks the token dead, alone or with all its descendants. Writes one row, however many descendants there are. The
   * mark says how and by whom, so that a sweep after a crash still knows.
   */
  revoke(row: number, state: RevokedState, how: HowEnded = "revoked", asked: RevocationOrigin = NO_ORIGIN): void {
    this.#mark(row, state, { ...asked, at: currentTime(), how });
  }

  /**
   * Revokes those rows from `first` to `last` that watermarks end, so that they stay ended when the watermarks are
   * forgotten. Returns their number. See `TokenRows.endedByWatermarks`.
   */
  revokeEnded(first: number, last: number): number {
    const ended = this.endedByWatermarks(first, last);
    for (const { row, mark } of ended) this.#mark(row, REVOKED, endByWatermark(mark, currentTime()));
    return ended.length;
  }

  /** `revokeEnded`, for these rows and their ancestors. */
  revokeEndedAbove(rows: readonly number[]): number {
    // Most tokens that are dead before they are listed were revoked themselves.
    if (this.keys.watermarks().all.size === 0) return 0;
    const passed = new Set<number>();
    let count = 0;
    for (const row of rows) {
      // The parent column is not sealed: `passed` also ends the walk in a forged cycle.
      for (let at: number | null = row; at !== null && !passed.has(at); ) {
        passed.add(at);
        count += this.revokeEnded(at, at);
        at = columnOf<number | null>(this.sql, "SELECT parent FROM tokens WHERE row = ?", at)[0] ?? null;
      }
    }
    return count;
  }

  #mark(row: number, state: number, end: Omit<EndRecord, "cause">, usesLeft: number | null = null): void {
    this.#invalidate();
    // A token that was never issued may have a seal by keys that were never stored, so its accessor can't be read.
    const cause = end.how === "never issued" ? "" : (this.accessorOf(row) ?? "");
    const text = JSON.stringify({ ...end, cause } satisfies EndRecord);
    // A wrapping token that unwraps its own answer is already marked as spent: "unwrapped" says more.
    const ended = end.how === "unwrapped" ? "?" : "COALESCE(ended, ?)";
    const marked = `state = ?, uses_left = COALESCE(?, uses_left), ended = ${ended}`;
    this.sql.exec(`UPDATE tokens SET ${marked} WHERE row = ?`, state, usesLeft, text, row);
    this.liveness.noteDead();
  }

  #raiseFloor(row: number): void {
    if (row <= this.#floor) return;
    this.#floors.exec("INSERT OR REPLACE INTO row_floor (id, row) VALUES (0, ?)", row);
    this.#floor = row;
  }
}
