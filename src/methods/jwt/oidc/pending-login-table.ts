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

/** Maximum number of pending logins of a mount: beyond it, the oldest one of the network that has most ends. */
export const MAX_PENDING = 10_000;
/** Maximum number of pending logins of a network: a client that begins many logins ends only logins of its network. */
export const MAX_PENDING_OF_NETWORK = 1_000;
/** Number of ended rows that one call deletes at most. */
const DELETED_AT_ONCE = 100;

/**
 * The pending logins of a mount. Anybody can begin logins, so their number is bounded. A full mount ends logins of the
 * network that has most, so that a few networks do not end those of all. Calls are synchronous: each is one transaction.
 */
export class PendingLogins {
  readonly #sql: Sql;
  readonly #rows: SealedTable<Row>;
  /** Number of rows of each network, so that no call reads them to count; null before the first use. */
  #counts: Map<string, number> | null = null;

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

  /** Stores a login. The hash is random. If it is stored already, an earlier attempt of this call has stored it. */
  add({ hash, role, client, network, value, expiresAt }: PendingRow, now: Ms): void {
    this.deleteEnded(now);
    if (this.find(hash, now)) return;
    const counts = this.#known();
    if (network !== "" && (counts.get(network) ?? 0) >= MAX_PENDING_OF_NETWORK) this.#endOldest(network);
    const { total, largest } = sumOf(counts);
    if (total >= MAX_PENDING) this.#endOldest(largest);
    this.#rows.put({ hash, role, client, network, value: value.buffer, expires_at: expiresAt });
    counts.set(network, (counts.get(network) ?? 0) + 1);
  }

  /** The login with this hash that has not ended at `now`; null for none. */
  find(hash: string, now: Ms): PendingRow | null {
    const row = this.#rows.find(hash);
    if (!row || row.expires_at <= now) return null;
    const { role, client, network, expires_at: expiresAt } = row;
    return { hash, role, client, network, value: new Uint8Array(row.value), expiresAt };
  }

  /**
   * Replaces the value of a login, unless it differs from `before` by now. True when it was replaced, also by another
   * attempt of the call: no other call has this value, as each is sealed anew.
   */
  replace(hash: string, before: Uint8Array, value: Uint8Array<ArrayBuffer>, now: Ms): boolean {
    const row = this.find(hash, now);
    if (row && equalBytes(row.value, value)) return true;
    if (!row || !equalBytes(row.value, before)) return false;
    const { role, client, network, expiresAt } = row;
    this.#rows.put({ hash, role, client, network, value: value.buffer, expires_at: expiresAt });
    return true;
  }

  /** Ends a login. */
  delete(hash: string): void {
    const counts = this.#known();
    const query = "DELETE FROM pending_logins WHERE hash = ? RETURNING network";
    for (const network of columnOf<string>(this.#sql, query, hash)) {
      const left = (counts.get(network) ?? 0) - 1;
      if (left > 0) counts.set(network, left);
      else counts.delete(network);
    }
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
    this.#counts = null;
  }

  /** Deletes the login of a network that ends first. */
  #endOldest(network: string): void {
    const oldest = "SELECT hash FROM pending_logins WHERE network = ? ORDER BY expires_at, hash LIMIT 1";
    for (const hash of columnOf<string>(this.#sql, oldest, network)) this.delete(hash);
  }

  #known(): Map<string, number> {
    this.#counts ??= new Map(
      this.#sql
        .exec<{ network: string; count: number }>(
          "SELECT network, COUNT(*) AS count FROM pending_logins GROUP BY network",
        )
        .toArray()
        .map(({ network, count }) => [network, count]),
    );
    return this.#counts;
  }
}

/** The sum of the counts, and the network that has most. */
function sumOf(counts: ReadonlyMap<string, number>): { readonly total: number; readonly largest: string } {
  let [total, largest, most] = [0, "", 0];
  for (const [network, count] of counts) {
    total += count;
    if (count > most) [largest, most] = [network, count];
  }
  return { total, largest };
}
