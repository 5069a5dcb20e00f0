import type { Ms } from "../../../base/clock.ts";
import { equalBytes } from "../../../crypto/bytes.ts";
import type { RowSeals } from "../../../storage/row-seals.ts";
import { blobsOf, SealedTable } from "../../../storage/sealed-table.ts";
import { columnOf, type Sql } from "../../../storage/tables.ts";

/** The SQL of the table of pending logins. */
export const PENDING_LOGINS_TABLE = `
  CREATE TABLE pending_logins (
    hash TEXT PRIMARY KEY,
    role TEXT NOT NULL,
    client TEXT NOT NULL,
    network TEXT NOT NULL,
    value BLOB NOT NULL,
    expires_at INTEGER NOT NULL,
    seal BLOB
  ) WITHOUT ROWID;
  CREATE INDEX pending_logins_by_end ON pending_logins (expires_at);
  CREATE INDEX pending_logins_by_network ON pending_logins (network, expires_at);
`;

/** A login that was begun and has not ended. */
export interface PendingRow {
  /** Keyed hash of its state. */
  readonly hash: string;
  /** Name of the role in lower case. */
  readonly role: string;
  /** Keyed hash of the nonce by which the client proves that it began the login; "" when it sent none. */
  readonly client: string;
  /** Network of the client that began; "" when it is not known. */
  readonly network: string;
  /** Sealed by `sealPending`. */
  readonly value: Uint8Array<ArrayBuffer>;
  readonly expiresAt: Ms;
}

type Row = {
  hash: string;
  role: string;
  client: string;
  network: string;
  value: ArrayBuffer;
  expires_at: number;
};

/** Maximum number of pending logins of a mount. */
export const MAX_PENDING = 10_000;
/** Maximum number of pending logins of a network: a client that begins many logins ends only logins of its network. */
export const MAX_PENDING_OF_NETWORK = 1_000;
/** Number of ended rows that one call deletes at most. */
const DELETED_AT_ONCE = 100;

/**
 * The pending logins of a mount. Anybody can begin logins, so their number is bounded: beyond it the oldest ones end.
 * Calls are synchronous, so each is one transaction.
 */
export class PendingLogins {
  readonly #sql: Sql;
  readonly #rows: SealedTable<Row>;
  /** Number of rows; null before the first use. */
  #count: number | null = null;

  constructor(sql: Sql, seals: RowSeals) {
    this.#sql = sql;
    this.#rows = new SealedTable<Row>(sql, seals, {
      table: "pending_logins",
      kind: "jwt pending login",
      key: ["hash"],
      sealed: ["role", "client", "network", "value", "expires_at"],
      values: ({ value }) => blobsOf([value]),
    });
  }

  /** Stores a login. Its hash is new. */
  add({ hash, role, client, network, value, expiresAt }: PendingRow, now: Ms): void {
    this.deleteEnded(now);
    if (network !== "") this.#endOldest(this.#countOf(network) + 1 - MAX_PENDING_OF_NETWORK, network);
    this.#endOldest(this.#known() + 1 - MAX_PENDING, null);
    this.#rows.put({ hash, role, client, network, value: value.buffer, expires_at: expiresAt });
    this.#count = this.#known() + 1;
  }

  /** The login with this hash that has not ended at `now`; null for none. */
  find(hash: string, now: Ms): PendingRow | null {
    const row = this.#rows.find(hash);
    if (!row || row.expires_at <= now) return null;
    const { role, client, network, expires_at: expiresAt } = row;
    return { hash, role, client, network, value: new Uint8Array(row.value), expiresAt };
  }

  /** Replaces the value of a login, unless it differs from `before` by now. True when it was replaced. */
  replace(hash: string, before: Uint8Array, value: Uint8Array<ArrayBuffer>, now: Ms): boolean {
    const row = this.find(hash, now);
    if (!row || !equalBytes(row.value, before)) return false;
    const { role, client, network, expiresAt } = row;
    this.#rows.put({ hash, role, client, network, value: value.buffer, expires_at: expiresAt });
    return true;
  }

  /** Ends a login. */
  delete(hash: string): void {
    const query = "DELETE FROM pending_logins WHERE hash = ? RETURNING 1";
    this.#count = this.#known() - columnOf(this.#sql, query, hash).length;
  }

  /** Deletes logins that have ended at `now`, a bounded number of them. */
  deleteEnded(now: Ms): void {
    const query = "SELECT hash FROM pending_logins WHERE expires_at <= ? ORDER BY expires_at LIMIT ?";
    for (const hash of columnOf<string>(this.#sql, query, now, DELETED_AT_ONCE)) this.delete(hash);
  }

  /** When the first pending login ends; null without any. */
  firstEnd(): Ms | null {
    const [end = null] = columnOf<number | null>(this.#sql, "SELECT MIN(expires_at) FROM pending_logins");
    return end;
  }

  /** Notes that the tables were deleted. */
  forget(): void {
    this.#count = null;
  }

  /** Deletes the logins that end first, a bounded number of them. @param network null: of all */
  #endOldest(surplus: number, network: string | null): void {
    if (surplus <= 0) return;
    const which = network === null ? "" : "WHERE network = ?";
    const oldest = `SELECT hash FROM pending_logins ${which} ORDER BY expires_at, hash LIMIT ?`;
    const values = network === null ? [] : [network];
    const hashes = columnOf<string>(this.#sql, oldest, ...values, Math.min(surplus, DELETED_AT_ONCE));
    for (const hash of hashes) this.delete(hash);
  }

  #countOf(network: string): number {
    const [count = 0] = columnOf<number>(this.#sql, "SELECT COUNT(*) FROM pending_logins WHERE network = ?", network);
    return count;
  }

  #known(): number {
    this.#count ??= this.#rows.count();
    return this.#count;
  }
}
