import type { Ms, Seconds } from "../base/clock.ts";
import { columnOf, type Migration, type SchemaVersions, setColumns, storedJson, Tables } from "../storage/tables.ts";
import { routedIdText } from "../token/ids.ts";
import type { GrantedTtl } from "../token/rules/ttl.ts";
import { type LeaseRecord, type LeaseView, MAX_SHOWN_FAILURES, type NewLeaseIds, type Unrevoked } from "./actions.ts";
import type { LeasePlan } from "./lease-ttl.ts";

/** State of a lease that a token holds. */
export const HELD = 0;
/** Ended, with a pending revocation. These rows are the outbox of the tree. */
const TO_REVOKE = 1;
/** Ended, and its revocation was given up. */
export const GIVEN_UP = 2;

export const LEASE_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "leases of secrets that the tokens hold",
    sql: `
      CREATE TABLE leases (
        row INTEGER PRIMARY KEY,
        token INTEGER NOT NULL,
        tail BLOB NOT NULL,
        path TEXT NOT NULL,
        state INTEGER NOT NULL,
        expires_at INTEGER NOT NULL,
        granted_ttl INTEGER NOT NULL,
        renewed_at INTEGER,
        attempts INTEGER NOT NULL,
        attempt_at INTEGER NOT NULL,
        forced INTEGER NOT NULL DEFAULT 0,
        error TEXT,
        record TEXT NOT NULL,
        data BLOB
      );
      CREATE INDEX leases_of_token ON leases (token) WHERE state = ${HELD};
      CREATE INDEX leases_by_expiry ON leases (expires_at) WHERE state = ${HELD};
      CREATE INDEX leases_to_revoke ON leases (attempt_at) WHERE state = ${TO_REVOKE};
    `,
  },
  {
    version: 2,
    description: "ended leases by the token that held them, for receipts",
    sql: "CREATE INDEX leases_ended_of_token ON leases (token) WHERE state <> 0;",
    readableFrom: 1,
  },
];

/** A row of the table of leases. */
export interface LeaseRow extends Record<string, SqlStorageValue> {
  row: number;
  token: number;
  tail: ArrayBuffer;
  path: string;
  state: number;
  expires_at: Ms;
  granted_ttl: Seconds;
  renewed_at: Ms | null;
  /** Attempts to send the revocation. Each is counted before it is made. */
  attempts: number;
  attempt_at: Ms;
  /** 1: the lease is deleted after one attempt, even a failed one. */
  forced: number;
  error: string | null;
  record: string;
  data: ArrayBuffer | null;
}

/** The table of leases of one tree, created with the first lease. It also tracks when the alarm is due. */
export class LeaseStore {
  readonly tables: Tables;
  readonly #treeId: string;
  /** No lease expires and no revocation is due before this time; null when nothing will be due. */
  #nextDueAt: Ms | null = null;

  constructor(sql: SqlStorage, treeId: string, versions: SchemaVersions) {
    this.#treeId = treeId;
    this.tables = new Tables(sql, LEASE_MIGRATIONS, "leases", versions);
  }

  /** True when no lease is held, and no revocation is pending or was given up. */
  get isEmpty(): boolean {
    return this.tables.exec("SELECT 1 FROM leases LIMIT 1").toArray().length === 0;
  }

  /** Called while the storage of the tree is deleted. */
  forget(): void {
    this.tables.forget();
  }

  get nextDueAt(): Ms | null {
    return this.#nextDueAt;
  }

  /** Reads `nextDueAt` from the table. Needed after a start of the object and after the alarm's work. */
  refresh(): void {
    const query = `SELECT MIN(at) FROM (
        SELECT MIN(expires_at) AS at FROM leases WHERE state = ${HELD}
        UNION ALL SELECT MIN(attempt_at) FROM leases WHERE state = ${TO_REVOKE}
      )`;
    this.#nextDueAt = columnOf<number | null>(this.tables, query)[0] ?? null;
  }

  /** The lease with this row number, in any state. */
  find(row: number): LeaseRow | null {
    return this.tables.exec<LeaseRow>("SELECT * FROM leases WHERE row = ?", row).toArray()[0] ?? null;
  }

  /** The part of the lease id after the path. */
  tailOf({ row, tail }: LeaseRow): string {
    return routedIdText(this.#treeId, row, new Uint8Array(tail));
  }

  view(row: LeaseRow): LeaseView {
    return {
      ...storedJson<LeaseRecord>(row.record),
      path: row.path,
      tail: this.tailOf(row),
      grantedTtl: row.granted_ttl,
      expiresAt: row.expires_at,
      renewedAt: row.renewed_at,
      error: row.error,
      ...(row.state !== HELD && { nextAttemptAt: row.state === GIVEN_UP ? null : row.attempt_at }),
    };
  }

  /**
   * Counts the leases of these tokens, up to `limit`. Leases whose earlier revocation the target has not accepted are
   * included, so that the numbers of a receipt add up. `more`: there are more leases than `limit`.
   */
  countOfTokens(tokens: readonly number[], limit: number): { readonly count: number; readonly more: boolean } {
    // Two parts, because each has its own partial index.
    const part = (state: string) => `SELECT 1 FROM json_each(?1) t JOIN leases l ON l.token = t.value AND l.${state}`;
    const query = `SELECT COUNT(*) FROM (${part(`state = ${HELD}`)} UNION ALL ${part(`state <> ${HELD}`)} LIMIT ?2)`;
    const [found = 0] = columnOf<number>(this.tables, query, JSON.stringify(tokens), limit + 1);
    return { count: Math.min(found, limit), more: found > limit };
  }

  /** The leases of these dead tokens whose targets have not accepted the revocation. See `Unrevoked`. */
  unrevokedOf(tokens: readonly number[], most: number): Unrevoked {
    const rows = JSON.stringify(tokens);
    const all = this.countOfTokens(tokens, most);
    const ended = `FROM json_each(?) t JOIN leases l ON l.token = t.value AND l.state <> ${HELD}`;
    const counts = `SELECT COUNT(error) FROM (SELECT l.error ${ended} LIMIT ?)`;
    const [failing = 0] = columnOf<number>(this.tables, counts, rows, most);
    const shown = `SELECT l.* ${ended} WHERE l.error IS NOT NULL ORDER BY l.row LIMIT ?`;
    const failures = this.tables.exec<LeaseRow>(shown, rows, MAX_SHOWN_FAILURES).toArray();
    return {
      waiting: all.count - failing,
      failing,
      more: all.more,
      failures: failures.map((row) => ({
        path: row.path,
        tail: this.tailOf(row),
        token: row.token,
        error: row.error ?? "",
        nextAttemptAt: row.state === GIVEN_UP ? null : row.attempt_at,
      })),
    };
  }

  /** The oldest leases that a token itself holds, at most `limit`. */
  ofToken(token: number, limit: number): LeaseView[] {
    const query = `SELECT * FROM leases WHERE token = ? AND state = ${HELD} ORDER BY row LIMIT ?`;
    const rows = this.tables.exec<LeaseRow>(query, token, limit).toArray();
    return rows.map((row) => this.view(row));
  }

  /** Writes a new lease of `token`. The row must be free. `data` is sealed. */
  insert(ids: NewLeaseIds, token: number, path: string, { record, grant }: LeasePlan, data: Uint8Array | null): void {
    this.tables.exec(
      `INSERT INTO leases (row, token, tail, path, state, expires_at, granted_ttl, attempts, attempt_at, record, data)
       VALUES (?, ?, ?, ?, ${HELD}, ?, ?, 0, 0, ?, ?)`,
      ids.row,
      token,
      ids.tail,
      path,
      grant.expiresAt,
      grant.ttl,
      JSON.stringify(record),
      data,
    );
    this.#dueAt(grant.expiresAt);
  }

  /** Deletes a lease that was just written and whose id no client received. */
  removeUnseen(row: number): void {
    this.tables.exec("DELETE FROM leases WHERE row = ?", row);
  }

  renew(row: number, grant: GrantedTtl, now: Ms): void {
    const columns = { granted_ttl: grant.ttl, expires_at: grant.expiresAt, renewed_at: now };
    setColumns(this.tables, "leases", columns, "row = ?", row);
    this.#dueAt(grant.expiresAt);
  }

  /**
   * Ends leases in any state: their revocations are due at `now`, also those that were given up. A pending
   * revocation keeps its schedule unless this call makes it forced.
   */
  end(rows: readonly number[], forced: boolean, now: Ms): void {
    if (rows.length === 0) return;
    const statement = `UPDATE leases SET state = ${TO_REVOKE}, attempts = 0, attempt_at = ?1, forced = ?2, error = NULL
      WHERE row IN (SELECT value FROM json_each(?3)) AND (state <> ${TO_REVOKE} OR forced < ?2)`;
    this.tables.exec(statement, now, forced ? 1 : 0, JSON.stringify(rows));
    this.#dueAt(now);
  }

  /** Ends leases that `tokens` hold, at most `limit`. Returns the number of leases that it ended. */
  endOfTokens(tokens: readonly number[], now: Ms, limit: number): number {
    return this.#endSome("token IN (SELECT value FROM json_each(?))", JSON.stringify(tokens), now, limit);
  }

  /** Ends expired leases, at most `limit`. Returns the number of leases that it ended. */
  endExpired(now: Ms, limit: number): number {
    return this.#endSome("expires_at <= ?", now, now, limit);
  }

  /** Returns at most `limit` due revocations, the longest waiting first. */
  due(now: Ms, limit: number): LeaseRow[] {
    const query = `SELECT * FROM leases WHERE state = ${TO_REVOKE} AND attempt_at <= ? ORDER BY attempt_at LIMIT ?`;
    return this.tables.exec<LeaseRow>(query, now, limit).toArray();
  }

  /** Counts an attempt to send a revocation, see `OutboxParts`. */
  claim(lease: LeaseRow, attempts: number, nextAt: Ms): LeaseRow | null {
    if (lease.state !== TO_REVOKE) return null;
    const attempt = { attempts, attempt_at: nextAt };
    setColumns(this.tables, "leases", attempt, "row = ?", lease.row);
    return { ...lease, ...attempt };
  }

  /** Stores the error of an attempt that will be repeated. */
  failed(row: number, error: string): void {
    setColumns(this.tables, "leases", { error }, `row = ? AND state = ${TO_REVOKE}`, row);
  }

  /** True when the revocation is pending and not forced: a forced one is sent once and never given up. */
  canGiveUp(row: number): boolean {
    const lease = this.find(row);
    return lease?.state === TO_REVOKE && lease.forced === 0;
  }

  /** Gives up a revocation and stores why the last attempt failed. See `canGiveUp`. */
  giveUp(row: number, error: string): void {
    setColumns(this.tables, "leases", { state: GIVEN_UP, error }, "row = ?", row);
  }

  remove(rows: readonly number[]): void {
    if (rows.length === 0) return;
    const statement = `DELETE FROM leases WHERE row IN (SELECT value FROM json_each(?)) AND state <> ${HELD}`;
    this.tables.exec(statement, JSON.stringify(rows));
  }

  #endSome(condition: string, value: SqlStorageValue, now: Ms, limit: number): number {
    const statement = `UPDATE leases SET state = ${TO_REVOKE}, attempt_at = ?
      WHERE row IN (SELECT row FROM leases WHERE state = ${HELD} AND ${condition} LIMIT ?) RETURNING row`;
    const ended = this.tables.exec(statement, now, value, limit).toArray().length;
    if (ended > 0) this.#dueAt(now);
    return ended;
  }

  #dueAt(at: Ms): void {
    if (this.#nextDueAt === null || at < this.#nextDueAt) this.#nextDueAt = at;
  }
}
