import { earliest, type Ms } from "../../base/clock.ts";
import { MAX_ENDED } from "../../base/limits.ts";
import { columnOf, type Sql, storedJson } from "../../storage/tables.ts";
import type { EndRecord } from "../../token/end-record.ts";
import { addressBeginning, decodeStoredId, type TokenAddress } from "../../token/ids.ts";
import { type InventoryEntry, type ListedToken, UNKNOWN_ENTRY } from "./entry.ts";
import { type Order, type OrderPosition, type ShardPage, type ShardQuery, scanPage } from "./page-cursor.ts";
import type { InventoryIndex } from "./shard/inventory-index.ts";
import { findPlace, ID_PROBES, readEntry, type TokenRowOfShard } from "./shard/tables.ts";

/**
 * The id is the first free one from the token's row number on, so a token is found without an index. `of_job` is 1 for
 * tokens that a job revoked: their number has a bound of its own.
 */
export const ENDED_SQL = `
  CREATE TABLE ended (
    id INTEGER PRIMARY KEY, accessor TEXT NOT NULL, of_job INTEGER NOT NULL, at INTEGER NOT NULL,
    job TEXT NOT NULL, cause TEXT NOT NULL, how TEXT NOT NULL, entry TEXT
  );
  CREATE INDEX ended_by_time ON ended (of_job, at);
`;

export interface Ending {
  readonly accessor: string;
  readonly end: EndRecord;
  /** Its entry, from its tree; absent when the inventory has the token. */
  readonly entry?: InventoryEntry;
}

/** Record of an ended token, which is kept for some time. */
export interface EndedToken {
  readonly id: number;
  /** Its last entry, with empty names when there was none. Its id is its row number. */
  readonly token: ListedToken;
  readonly end: EndRecord;
}

/** Filter for pages. */
export interface EndedFilter {
  readonly job?: string;
  /** Only tokens that ended because the token with this accessor ended, and that token. */
  readonly cause?: string;
  /** Only tokens that the request with this id ended, and the tokens below them. */
  readonly request?: string;
  /** Ended at `from` or later, and at `to` or earlier. */
  readonly from: Ms;
  readonly to: Ms;
}

/** Filter for counts. A shard of the last release does not know `request`, and its count can't be filtered again. */
export type CountedFilter = EndedFilter & { readonly request?: never };

/** Numbers of tokens that a job ended. */
export interface RevokedByJob {
  /** Tokens that the job revoked itself. */
  readonly revoked: number;
  /** These tokens, and the tokens that ended with them. */
  readonly total: number;
}

export const NONE_REVOKED: RevokedByJob = { revoked: 0, total: 0 };

/** A page of the tokens of one shard that have ended. */
export type EndedQuery = ShardQuery<EndedFilter>;

export const LAST_FIRST: Order = { by: "end", descending: true };

const MAX_SCANNED = 2000;
const STEP = 500;
/** Records of an hour are deleted together. */
const PAUSE_MS = 3_600_000;

type Row = { id: number; accessor: string; at: Ms; how: string; entry: string | null };
type Class = keyof typeof MAX_ENDED;
type Stored = Omit<EndRecord, "at">;

const COLUMNS = "id, accessor, at, how, entry";

/** Records of the recently ended tokens of one shard. No decision about access uses them. */
export class EndedTokens {
  readonly #sql: Sql;
  readonly #index: InventoryIndex;
  readonly #most: Readonly<Record<Class, number>>;
  /** Number of records of each class; undefined before they were read. */
  #kept: Record<Class, number> | undefined;
  /** No recorded token ended before this time; null: there is no record. Undefined before it was read. */
  #oldest: Ms | null | undefined;

  constructor(sql: Sql, index: InventoryIndex, most: Readonly<Record<Class, number>> = MAX_ENDED) {
    this.#sql = sql;
    this.#index = index;
    this.#most = most;
  }

  /** Forgets what was read of the tables, after a transaction that was rolled back. */
  forgetRead(): void {
    this.#kept = undefined;
    this.#oldest = undefined;
  }

  /** Stores records of tokens that leave the inventory, with their `rows`; an existing record is not changed. */
  add(endings: readonly Ending[], rows: readonly TokenRowOfShard[]): void {
    const entries = new Map(rows.map(({ accessor, entry }) => [accessor, entry]));
    for (const { accessor, end, entry } of endings) {
      // null when the token has a record, or no id is free for it.
      const { free: id } = findPlace<Row>(this.#sql, "ended", COLUMNS, accessor);
      if (id === null) continue;
      const { at, ...stored } = end;
      const ofJob = end.job === "" ? 0 : 1;
      this.#sql.exec(
        "INSERT INTO ended (id, accessor, of_job, at, job, cause, how, entry) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        id,
        accessor,
        ofJob,
        at,
        end.job,
        end.cause,
        JSON.stringify(stored satisfies Stored),
        entries.get(accessor) ?? (entry ? JSON.stringify(entry) : null),
      );
      this.#count(ofJob, 1);
      if (this.#oldest !== undefined) this.#oldest = Math.min(this.#oldest ?? at, at);
    }
    const kept = this.#keptOf();
    for (const ofJob of [0, 1]) {
      const name = classOf(ofJob);
      if (kept[name] > this.#most[name]) this.#drop("of_job = ?", ofJob, kept[name] - this.#most[name]);
    }
  }

  /** Returns the record of the token with this accessor; null when there is none, or it ended before `from`. */
  find(accessor: string, from: Ms): EndedToken | null {
    const { known } = findPlace<Row>(this.#sql, "ended", COLUMNS, accessor);
    return known && known.at >= from ? endedOf(known) : null;
  }

  /** Returns the record of the token at this address; null as for `find`. */
  findAt(address: TokenAddress, from: Ms): EndedToken | null {
    const beginning = addressBeginning(address);
    const { row } = address;
    const query = `SELECT ${COLUMNS} FROM ended WHERE id BETWEEN ? AND ? AND at >= ? ORDER BY id`;
    for (const known of this.#sql.exec<Row>(query, row, row + ID_PROBES - 1, from)) {
      if (known.accessor.startsWith(beginning)) return endedOf(known);
    }
    return null;
  }

  /**
   * True when its tree ended the token with this accessor before `before`. A record that tidy made does not count: it
   * says that the tree had lost the token.
   */
  hasEndedBefore(accessor: string, before: Ms): boolean {
    const { job, other } = this.#keptOf();
    if (job + other === 0) return false;
    const { known } = findPlace<Row>(this.#sql, "ended", COLUMNS, accessor);
    return known !== null && known.at < before && endedOf(known).end.how !== "tidy";
  }

  page(query: EndedQuery): ShardPage<EndedToken> {
    const { filter, after, shard } = query;
    return scanPage(this.#lastFirst(filter, after), LAST_FIRST, query, MAX_SCANNED, (row) => {
      const token = endedOf(row);
      return { token, position: { key: row.at, id: row.id, shard }, isSelected: isMeant(filter, token) };
    });
  }

  count({ job = "", cause = "", from, to }: CountedFilter): number {
    const query = `SELECT COUNT(*) FROM ended WHERE of_job IN (0, 1) AND of_job >= ? AND at BETWEEN ? AND ?
      AND ? IN ('', job) AND ? IN ('', cause)`;
    return columnOf<number>(this.#sql, query, job === "" ? 0 : 1, from, to, job, cause)[0] ?? 0;
  }

  /** Counts the tokens that a job ended by revoking `accessors`: these tokens, and the tokens that ended with them. */
  countRevoked({ job = "", from, to }: EndedFilter, accessors: readonly string[]): RevokedByJob {
    const query = `WITH revoked AS MATERIALIZED (SELECT value FROM json_each(?))
      SELECT COUNT(*) AS total, COALESCE(SUM(accessor IN revoked), 0) AS revoked FROM ended
      WHERE of_job = 1 AND at BETWEEN ? AND ? AND job = ? AND cause IN revoked`;
    const counted = this.#sql.exec<RevokedByJob & Record<string, number>>(
      query,
      JSON.stringify(accessors),
      from,
      to,
      job,
    );
    return counted.toArray()[0] ?? NONE_REVOKED;
  }

  /** Returns when the clean-up is due; null: there is no record. @param keep how long records are kept. */
  nextDueAt(keep: Ms, now: Ms): Ms | null {
    const oldest = this.#oldestEnd();
    return oldest === null ? null : Math.max(now, oldest + keep + PAUSE_MS);
  }

  /** Performs one step of the clean-up: deletes some records of tokens that ended before `before`. */
  forget(before: Ms): void {
    const oldest = this.#oldestEnd();
    if (oldest === null || oldest >= before) return;
    this.#oldest = undefined;
    for (const ofJob of [0, 1]) this.#drop("of_job = ? AND at < ?", ofJob, STEP, before);
    this.#index.write();
  }

  #oldestEnd(): Ms | null {
    if (this.#oldest !== undefined) return this.#oldest;
    const query = `SELECT * FROM (SELECT at FROM ended WHERE of_job = 0 ORDER BY at LIMIT 1)
      UNION ALL SELECT * FROM (SELECT at FROM ended WHERE of_job = 1 ORDER BY at LIMIT 1)`;
    this.#oldest = earliest(...columnOf<number>(this.#sql, query));
    return this.#oldest;
  }

  #drop(where: string, ofJob: number, most: number, ...values: readonly number[]): void {
    const chosen = `SELECT id FROM ended WHERE ${where} ORDER BY at LIMIT ?`;
    const statement = `DELETE FROM ended WHERE id IN (${chosen}) RETURNING id`;
    const gone = columnOf(this.#sql, statement, ofJob, ...values, most);
    if (gone.length > 0) this.#count(ofJob, -gone.length);
  }

  /**
   * Returns rows, the last to end first. The index orders the tokens that a job ended and the other tokens separately,
   * and the query merges both as rows are read.
   */
  #lastFirst({ job, from, to }: EndedFilter, after: OrderPosition | null): Iterable<Row> {
    const [at, id] = after !== null && after.key <= to ? [after.key, after.id] : [to, Number.MAX_SAFE_INTEGER];
    // Many tokens can end at one time. The index ends with the row id, so the page continues among them without a scan.
    const atOnce = `SELECT ${COLUMNS} FROM ended WHERE of_job = ? AND at = ? AND at >= ? AND id <= ?`;
    const earlier = `SELECT ${COLUMNS} FROM ended WHERE of_job = ? AND at < ? AND at >= ?`;
    const kinds = job === undefined ? [0, 1] : [1];
    return this.#sql.exec<Row>(
      `${kinds.map(() => `${atOnce} UNION ALL ${earlier}`).join(" UNION ALL ")} ORDER BY at DESC, id DESC`,
      ...kinds.flatMap((ofJob) => [ofJob, at, from, id, ofJob, at, from]),
    );
  }

  #count(ofJob: number, by: number): void {
    this.#keptOf()[classOf(ofJob)] += by;
    this.#index.count({ kind: "ended", mount: "", key: classOf(ofJob) }, by);
  }

  #keptOf(): Record<Class, number> {
    if (!this.#kept) {
      const counts = this.#index.countsOf("ended", "", ["job", "other"]);
      const numberOf = (name: Class) => counts.find(({ key }) => key === name)?.count ?? 0;
      this.#kept = { job: numberOf("job"), other: numberOf("other") };
    }
    return this.#kept;
  }
}

function classOf(ofJob: number): Class {
  return ofJob === 1 ? "job" : "other";
}

/** True when the end of a token has the job, the cause and the request of the filter, as far as it names them. */
export function isMeant({ job, cause, request }: EndedFilter, { end }: EndedToken): boolean {
  if (request !== undefined && end.request !== request) return false;
  return (job === undefined || end.job === job) && (cause === undefined || end.cause === cause);
}

function endedOf({ id, accessor, at, how, entry }: Row): EndedToken {
  // A token that ended before it was listed, and whose tree sent no entry, has none.
  const known = (entry === null ? null : readEntry(entry)) ?? UNKNOWN_ENTRY;
  const token = { ...known, accessor, id: decodeStoredId(accessor)?.row ?? 0 };
  return { id, token, end: { ...storedJson<Stored>(how), at } };
}
