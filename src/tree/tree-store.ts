import { currentTime } from "../base/clock.ts";
import { GenerationalCache } from "../base/generational-cache.ts";
import { concat } from "../crypto/bytes.ts";
import type { RowKeys, RowPlace, SealVerdict } from "../crypto/row-keys.ts";
import { type Migration, readVersions, Schema } from "../storage/schema.ts";
import { reportTampering } from "../storage/tampering.ts";
import { isEnded, type Watermarks } from "../system/watermarks.ts";
import { firstRowAt, type NewTokenIds, routedIdText } from "../token/ids.ts";
import type { TokenRecord, TokenSpec, TokenView } from "../token/record.ts";
import { LIVE, REVOKED, REVOKED_ALONE } from "../token/state.ts";
import { RowFloor } from "./supply/row-floor.ts";
import { ListingMark } from "./updates/listing-mark.ts";

/** SQL: the key of a token in the directory of custom ids. */
export const CUSTOM_ID_KEY = "json_extract(record, '$.customIdKey')";

/** The table of tokens. */
export const TOKEN_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "tokens with their parent links",
    sql: `
      CREATE TABLE tokens (
        row INTEGER PRIMARY KEY,
        parent INTEGER,
        verifier BLOB NOT NULL,
        accessor BLOB NOT NULL,
        state INTEGER NOT NULL,
        uses_left INTEGER NOT NULL,
        granted_ttl INTEGER NOT NULL,
        expires_at INTEGER,
        renewed_at INTEGER,
        record TEXT NOT NULL
      );
    `,
  },
];

/** Its indexes, of no use to a tree of one token: most trees are a login, and never have another. */
export const TOKEN_INDEX_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "children of a token, tokens by expiry, dead tokens",
    // Partial: they hold only rows that need them.
    sql: `
      CREATE INDEX tokens_by_parent ON tokens (parent) WHERE parent IS NOT NULL;
      CREATE INDEX tokens_by_expiry ON tokens (expires_at) WHERE expires_at IS NOT NULL;
      CREATE INDEX tokens_dead ON tokens (state) WHERE state <> 0;
    `,
  },
];

/** Bytes of the column `verifier` that are the verifier; the others are the seal of the row. */
const VERIFIER_BYTES = 24;

/**
 * The seal of a token's row: over what is fixed when the token is made. What changes (state, uses, end, parent) is not
 * covered: whoever can write it could as well put back an older row.
 */
export function sealToken(
  keys: RowKeys,
  treeId: string,
  token: Pick<NewTokenIds, "row" | "verifier" | "accessorTail"> & { readonly recordJson: string },
): Uint8Array<ArrayBuffer> {
  const content = [token.verifier, token.accessorTail, token.recordJson];
  return keys.seal(placeOfToken(treeId, token.row), content, currentTime());
}

function placeOfToken(treeId: string, row: number): RowPlace {
  return { kind: "token", object: treeId, row };
}

/** The columns of a token that change. Times in ms. */
type ChangingColumns = {
  row: number;
  parent: number | null;
  state: number;
  uses_left: number;
  granted_ttl: number;
  expires_at: number | null;
  renewed_at: number | null;
};

/** All columns. */
type Columns = ChangingColumns & { verifier: ArrayBuffer; accessor: ArrayBuffer; record: string };

/** What is fixed when a token is made, read. */
export interface FixedPart {
  readonly verifier: Uint8Array;
  readonly accessorTail: Uint8Array;
  /** The text that clients know. */
  readonly accessor: string;
  readonly record: TokenRecord;
}

/** What rows are judged by. Called within transactions. */
export interface RowJudges {
  /** For seals of rows. */
  readonly rowKeys: () => RowKeys;
  readonly watermarks: () => Watermarks;
}

/** A token as it is stored. */
export type TokenRow = ChangingColumns & { readonly fixed: FixedPart };

/** Hears of every change to a token that others are shown. */
export interface TokenObserver {
  /** What changes about a token has changed: its uses or its end. */
  changed(row: number): void;
}

const NO_OBSERVER: TokenObserver = { changed: () => {} };

const CHANGING = "row, parent, state, uses_left, granted_ttl, expires_at, renewed_at";
/** Characters of the records of tokens in use that an object keeps read; there are many objects in one isolate. */
const MAX_FIXED_CHARACTERS = 2 ** 17;
/** Rows of which an object remembers that no watermark ends them. */
const MAX_JUDGED_ROWS = 2 ** 12;

/** SQL: a row and those above it, up to one that was revoked alone: what is below that has no parent any more. */
const UP = `WITH RECURSIVE up (row, parent, state, expires_at) AS (
  SELECT row, parent, state, expires_at FROM tokens WHERE row = ?1
  UNION ALL
  SELECT t.row, t.parent, t.state, t.expires_at
  FROM up JOIN tokens t ON t.row = up.parent WHERE up.state <> ${REVOKED_ALONE}
)`;

/**
 * The table of tokens of one tree. Whether a token is alive depends on its ancestors too; asking them is only needed
 * while a dead token has not been swept away, so the store remembers whether there can be one.
 */
export class TreeStore {
  readonly #sql: SqlStorage;
  readonly #treeId: string;
  readonly #table: Schema;
  readonly #indexes: Schema;
  /** Which tokens the list of accessors has. */
  readonly listing: ListingMark;
  readonly #floor: RowFloor;
  /** By row. Rows are never used again, so what is kept here stays true. */
  readonly #fixed = new GenerationalCache<number, FixedPart>(MAX_FIXED_CHARACTERS);
  readonly #observer: TokenObserver;
  readonly #voidViews: () => void;
  readonly #judges: RowJudges;
  /** Rows that no watermark of `#judgedBy` ends, with their ancestors; a token keeps its number and so stays above them. */
  #above = new GenerationalCache<number, true>(MAX_JUDGED_ROWS);
  #judgedBy: Watermarks | null = null;
  /** True when no token was left, and none has been written since. */
  #knownEmpty = false;
  /** True while a revoked row may exist. */
  #hasDead = false;
  /** No token expires before this (ms); null when none expires. */
  #earliestExpiry: number | null = null;

  /**
   * @param voidViews called in the step in which a token ends, or a look-up of one begins to show something else, its uses
   *   and the passing of time excepted. Not called for what watermarks end: what was found out under others is not believed.
   */
  constructor(
    sql: SqlStorage,
    treeId: string,
    judges: RowJudges,
    observer: TokenObserver = NO_OBSERVER,
    voidViews: () => void = () => {},
    versions = readVersions(sql),
  ) {
    this.#sql = sql;
    this.#observer = observer;
    this.#treeId = treeId;
    this.#judges = judges;
    this.#voidViews = voidViews;
    this.#table = new Schema(sql, TOKEN_MIGRATIONS, "schema", versions);
    this.#indexes = new Schema(sql, TOKEN_INDEX_MIGRATIONS, "indexes", versions);
    this.listing = new ListingMark(sql, versions);
    this.#floor = new RowFloor(sql, versions);
  }

  /** False while there are no tables: in a tree that was never created, or whose storage was deleted. */
  get isCreated(): boolean {
    return this.#table.exists;
  }

  /** The storage of the tree was deleted. @param keepsFloor true when row numbers go on above those of the deleted tokens. */
  forget(keepsFloor: boolean): void {
    this.#voidViews();
    this.#table.forget();
    this.#indexes.forget();
    this.listing.forget();
    this.#knownEmpty = false;
    this.#hasDead = false;
    this.#earliestExpiry = null;
    if (keepsFloor) this.#floor.keep();
  }

  /** A tree that was freed, or never used, begins with its first token. */
  begin(): void {
    this.#hasDead = false;
    this.#earliestExpiry = null;
    this.listing.begin();
  }

  /** Reads what the store remembers. Needed after a wake-up and after a sweep. */
  refresh(): void {
    if (!this.isCreated) return;
    const { any, dead, earliest } = this.#sql
      .exec<{ any: number; dead: number; earliest: number | null }>(
        `SELECT EXISTS (SELECT 1 FROM tokens) AS any, EXISTS (SELECT 1 FROM tokens WHERE state <> 0) AS dead,
           (SELECT MIN(expires_at) FROM tokens WHERE expires_at IS NOT NULL) AS earliest`,
      )
      .one();
    this.#knownEmpty = any === 0;
    this.#hasDead = dead !== 0;
    this.#earliestExpiry = earliest;
  }

  /** True while a revoked row may wait for the sweep. */
  get hasDead(): boolean {
    return this.#hasDead;
  }

  /** True when there is no more than one token, and has not been since the first was written. */
  get isSingle(): boolean {
    return this.listing.upTo === null;
  }

  /** When the sweep has work (ms): `now` while revoked rows wait, null when nothing will ever end. */
  nextSweepAt(now: number): number | null {
    return this.#hasDead ? now : this.#earliestExpiry;
  }

  /** The row with this number, alive or not. Null also when its seal does not hold: somebody wrote it who has no keys. */
  find(row: number): TokenRow | null {
    const fixed = this.#fixed.get(row);
    if (!fixed) return this.#read(row);
    const found = this.#sql.exec<ChangingColumns>(`SELECT ${CHANGING} FROM tokens WHERE row = ?`, row).toArray()[0];
    return found ? { ...found, fixed } : null;
  }

  /** The row with this number if its token is alive at `now`, with every ancestor. */
  live(row: number, now: number): TokenRow | null {
    const found = this.find(row);
    if (!found || found.state !== LIVE) return null;
    if (found.expires_at !== null && found.expires_at <= now) return null;
    if (isEnded(this.#judges.watermarks(), "all", found.fixed.record)) return null;
    if (found.parent !== null && this.#mayHaveDead(now) && this.#hasDeadAncestor(found.parent, now)) return null;
    return found.parent !== null && this.#hasEndedAncestor(found.parent) ? null : found;
  }

  /**
   * How long a token that is alive at `now` stays so unless something is written: until an ms, null for ever. While dead rows wait for
   * the sweep, its ancestors are read.
   */
  aliveUntil({ parent, expires_at: expiresAt }: TokenRow, now: number): number | null {
    if (parent === null) return expiresAt;
    if (!this.#mayHaveDead(now)) return this.#earliestExpiry;
    const above = this.#firstExpiryFrom(parent);
    return expiresAt === null || above === null ? (expiresAt ?? above) : Math.min(expiresAt, above);
  }

  /** A stored token as it is shown, at `now` (ms). */
  view(row: TokenRow, now: number): TokenView {
    return {
      ...row.fixed.record,
      treeId: this.#treeId,
      row: row.row,
      accessor: row.fixed.accessor,
      orphan: this.isOrphan(row, now),
      usesLeft: row.uses_left,
      grantedTtl: row.granted_ttl,
      expiresAt: row.expires_at,
      renewedAt: row.renewed_at,
    };
  }

  /** True when the token has no parent, or a parent that was revoked without its children. */
  isOrphan(token: TokenRow, now: number): boolean {
    if (token.parent === null) return true;
    if (!this.#mayHaveDead(now)) return false;
    const parent = this.#sql
      .exec<{ state: number }>("SELECT state FROM tokens WHERE row = ?", token.parent)
      .toArray()[0];
    return parent === undefined || parent.state === REVOKED_ALONE;
  }

  /** The accessor of the token in this row; null when there is none, or its seal does not hold. Reads nothing for one that was read before. */
  accessorOf(row: number): string | null {
    return (this.#fixed.get(row) ?? this.find(row)?.fixed)?.accessor ?? null;
  }

  /** How many tokens hang directly below the token. Reads them all. */
  countChildren(row: number): number {
    return this.#sql.exec<{ n: number }>("SELECT COUNT(*) AS n FROM tokens WHERE parent = ?", row).one().n;
  }

  /** How many tokens hang below another. Reads them all. */
  countBelow(): number {
    return this.#sql.exec<{ n: number }>("SELECT COUNT(*) AS n FROM tokens WHERE parent IS NOT NULL").one().n;
  }

  /** The row of the oldest token; null when there is none. */
  oldest(): number | null {
    return this.#sql.exec<{ row: number | null }>("SELECT MIN(row) AS row FROM tokens").one().row;
  }

  /** True when no token is left. */
  get isEmpty(): boolean {
    return this.#knownEmpty || this.#sql.exec("SELECT 1 FROM tokens LIMIT 1").toArray().length === 0;
  }

  /** The greatest row number that no new token may have, because a token may have had it. */
  get floor(): number {
    return this.#floor.row;
  }

  /** True when the tree has no other tokens than these. */
  hasOnly(rows: readonly number[]): boolean {
    return this.#countUpTo(rows.length + 1) <= rows.length;
  }

  /**
   * These rows were deleted, in this transaction. Their numbers are not used again.
   *
   * @param now ms. With the last token all numbers up to this moment are used: those of tokens that went before there was a floor.
   * @param isReused true when an empty tree is handed out again.
   */
  deleted(rows: readonly number[], now: number, isReused: boolean): void {
    const highest = rows.reduce((max, row) => Math.max(max, row), 0);
    if (!this.isEmpty) this.#floor.raise(highest);
    else if (isReused) this.#floor.raise(Math.max(highest, firstRowAt(now + 1) - 1));
  }

  /** True when a row with this number exists, alive or not. */
  exists(row: number): boolean {
    return this.#sql.exec("SELECT 1 FROM tokens WHERE row = ?", row).toArray().length > 0;
  }

  /**
   * Writes a new token.
   *
   * @returns false, with no token written, when its row is another's, or may have been.
   */
  insert(spec: TokenSpec, ids: NewTokenIds, parent: number | null): boolean {
    if (ids.row <= this.floor) return false;
    const { record, expiresAt } = spec;
    const recordJson = JSON.stringify(record);
    const seal = ids.seal ?? sealToken(this.#judges.rowKeys(), this.#treeId, { ...ids, recordJson });
    this.#table.create();
    if (parent !== null) {
      this.#indexes.create();
      // Where the row is another's, the lists are told of that one again.
      this.listing.written(ids.row);
    }
    const { rowsWritten } = this.#sql.exec(
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
    if (rowsWritten === 0) return false;
    this.#knownEmpty = false;
    if (parent !== null) this.#keepFixed(ids, recordJson);
    if (expiresAt !== null && (this.#earliestExpiry === null || expiresAt < this.#earliestExpiry)) {
      this.#earliestExpiry = expiresAt;
    }
    return true;
  }

  /** The list asks for a new token within seconds: neither its seal nor its record need be read again then. */
  #keepFixed({ row, verifier, accessorTail, accessor }: NewTokenIds, recordJson: string): void {
    const record = JSON.parse(recordJson) as TokenRecord;
    this.#fixed.set(row, { verifier, accessorTail, accessor, record }, recordJson.length);
  }

  /** Sets what a renewal changes. `expiresAt` and `now` in ms, `ttl` in seconds. */
  renew(row: number, ttl: number, expiresAt: number, now: number): void {
    this.#voidViews();
    this.#sql.exec(
      "UPDATE tokens SET granted_ttl = ?, expires_at = ?, renewed_at = ? WHERE row = ?",
      ttl,
      expiresAt,
      now,
      row,
    );
    if (this.#earliestExpiry === null || expiresAt < this.#earliestExpiry) this.#earliestExpiry = expiresAt;
    this.#observer.changed(row);
  }

  /** Counts one use. `left` is what remains before it; the last use turns into -1 and ends the token. */
  countUse(row: number, left: number): number {
    if (left > 1) {
      this.#sql.exec("UPDATE tokens SET uses_left = ? WHERE row = ?", left - 1, row);
      this.#observer.changed(row);
      return left - 1;
    }
    this.#voidViews();
    this.#sql.exec("UPDATE tokens SET uses_left = -1, state = ? WHERE row = ?", REVOKED, row);
    this.#hasDead = true;
    return -1;
  }

  /** Marks the token dead, alone or with everything below it: one row, whatever hangs below. */
  revoke(row: number, state: typeof REVOKED | typeof REVOKED_ALONE): void {
    this.#voidViews();
    this.#sql.exec("UPDATE tokens SET state = ? WHERE row = ?", state, row);
    this.#hasDead = true;
  }

  /**
   * Judges the rows from `first` to `last` by their seals, and seals those anew whose seal is of an older term.
   *
   * @returns how many were sealed, and how many are forged.
   */
  checkSeals(first: number, last: number): { readonly sealed: number; readonly tampered: number } {
    const rows = this.#sql.exec<Columns>("SELECT * FROM tokens WHERE row >= ? AND row <= ?", first, last).toArray();
    const verdicts = rows.map((row) => this.#checkSeal(row));
    return {
      sealed: verdicts.filter((verdict) => verdict === "renew").length,
      tampered: verdicts.filter((verdict) => verdict === "forged").length,
    };
  }

  /**
   * Revokes those rows from `first` to `last` that watermarks end: so that they stay so when the watermarks are forgotten. While
   * a watermark is open also those whose seal does not hold: what hangs below them is refused for as long, and stays so.
   *
   * @returns how many that were.
   */
  revokeEnded(first: number, last: number): number {
    const watermarks = this.#judges.watermarks();
    if (watermarks.all.size === 0) return 0;
    const ended = this.#sql
      .exec<Columns>(`SELECT * FROM tokens WHERE row >= ? AND row <= ? AND state = ${LIVE}`, first, last)
      .toArray()
      .filter(
        (row) =>
          isEnded(watermarks, "all", JSON.parse(row.record) as TokenRecord) ||
          (watermarks.open.size > 0 && this.#checkSeal(row) === "forged"),
      );
    for (const { row } of ended) this.revoke(row, REVOKED);
    return ended.length;
  }

  #countUpTo(most: number): number {
    return this.#sql.exec("SELECT 1 FROM tokens LIMIT ?", most).toArray().length;
  }

  #read(row: number): TokenRow | null {
    const found = this.#sql.exec<Columns>("SELECT * FROM tokens WHERE row = ?", row).toArray()[0];
    if (!found || this.#checkSeal(found) === "forged") return null;
    const { verifier, accessor, record, ...changing } = found;
    const accessorTail = new Uint8Array(accessor);
    const fixed = {
      verifier: new Uint8Array(verifier, 0, VERIFIER_BYTES),
      accessorTail,
      accessor: routedIdText(this.#treeId, row, accessorTail),
      record: JSON.parse(record) as TokenRecord,
    };
    this.#fixed.set(row, fixed, record.length);
    return { ...changing, fixed };
  }

  /** Checks the seal of a row, reports a forged one, and replaces one of an older term. */
  #checkSeal({ row, verifier: stored, accessor, record }: Columns): SealVerdict {
    const place = placeOfToken(this.#treeId, row);
    if (stored.byteLength < VERIFIER_BYTES) {
      reportTampering(place);
      return "forged";
    }
    const verifier = new Uint8Array(stored, 0, VERIFIER_BYTES);
    const seal = new Uint8Array(stored, VERIFIER_BYTES);
    const content = [verifier, new Uint8Array(accessor), record];
    const keys = this.#judges.rowKeys();
    const now = currentTime();
    const verdict = keys.check(place, content, seal, now);
    if (verdict === "forged") reportTampering(place);
    if (verdict === "renew") {
      const sealed = concat(verifier, keys.seal(place, content, now));
      this.#sql.exec("UPDATE tokens SET verifier = ? WHERE row = ?", sealed, row);
    }
    return verdict;
  }

  #mayHaveDead(now: number): boolean {
    return this.#hasDead || (this.#earliestExpiry !== null && this.#earliestExpiry <= now);
  }

  /**
   * Walks up from `row` while a watermark may end tokens that are not revoked yet, and remembers what it found not to be
   * ended: the next look-up reads nothing.
   */
  #hasEndedAncestor(row: number): boolean {
    const watermarks = this.#judges.watermarks();
    if (watermarks.open.size === 0) return false;
    if (this.#judgedBy !== watermarks) this.#above = new GenerationalCache(MAX_JUDGED_ROWS);
    this.#judgedBy = watermarks;
    const passed: number[] = [];
    for (let at: number | null = row; at !== null && !this.#above.get(at); ) {
      const found: TokenRow | null = this.find(at);
      // Nobody can tell whether a watermark ends a token whose record was changed.
      if (!found && this.exists(at)) return true;
      if (!found || found.state === REVOKED_ALONE) break;
      if (isEnded(watermarks, "open", found.fixed.record)) return true;
      passed.push(at);
      at = found.parent;
    }
    for (const above of passed.slice(0, MAX_JUDGED_ROWS)) this.#above.set(above, true, 1);
    return false;
  }

  /** Walks up from `row`. The walk ends at a token that was revoked alone: what is below it has no parent any more. */
  #hasDeadAncestor(row: number, now: number): boolean {
    const dead = this.#sql.exec(
      `${UP} SELECT 1 FROM up WHERE state = ${REVOKED} OR (state = ${LIVE} AND expires_at <= ?2) LIMIT 1`,
      row,
      now,
    );
    return dead.toArray().length > 0;
  }

  /** When the first of `row` and those above it ends that are not dead (ms); null: none of them ends. */
  #firstExpiryFrom(row: number): number | null {
    return this.#sql
      .exec<{ first: number | null }>(`${UP} SELECT MIN(expires_at) AS first FROM up WHERE state = ${LIVE}`, row)
      .one().first;
  }
}
