import { Rows, type RowsHost } from "./rows.ts";

/** A table of JSON values by name, each of which ends at some time. Ended rows stay until they are removed. */
export class ExpiringRows<T extends { readonly expiresAt: number }> {
  readonly #host: RowsHost;
  readonly #table: string;
  readonly #rows: Rows<T>;

  /** @param table one that a migration makes with the columns `name`, `value` and `expires_at` (ms), the last indexed. */
  constructor(host: RowsHost, table: string) {
    this.#host = host;
    this.#table = table;
    this.#rows = new Rows(host, table);
  }

  read(name: string): T | null {
    return this.#rows.read(name);
  }

  write(name: string, value: T): void {
    this.#host.create();
    this.#host.sql.exec(
      `INSERT OR REPLACE INTO ${this.#table} (name, value, expires_at) VALUES (?, ?, ?)`,
      name,
      JSON.stringify(value),
      value.expiresAt,
    );
  }

  /** Safe to repeat. */
  delete(name: string): void {
    this.#rows.delete(name);
  }

  /** At most `limit` names after `after`, in order. */
  names(after: string, limit: number): string[] {
    return this.#rows.names(after, limit);
  }

  /** Removes at most `limit` rows that ended before `cutoff` (ms). Returns how many. */
  deleteEndedBefore(cutoff: number, limit: number): number {
    if (!this.#host.exists) return 0;
    const deleted = this.#host.sql.exec(
      `DELETE FROM ${this.#table} WHERE name IN
         (SELECT name FROM ${this.#table} WHERE expires_at < ? ORDER BY expires_at LIMIT ?) RETURNING 1`,
      cutoff,
      limit,
    );
    return deleted.toArray().length;
  }

  /** When the next row ends (ms), or null. */
  earliestEnd(): number | null {
    if (!this.#host.exists) return null;
    const { end } = this.#host.sql
      .exec<{ end: SqlStorageValue }>(`SELECT MIN(expires_at) AS end FROM ${this.#table}`)
      .one();
    return typeof end === "number" ? end : null;
  }

  /** Rows whose end can't be read, which nothing but an operator removes. They sort behind all numbers in the index. */
  unreadable(): number {
    if (!this.#host.exists) return 0;
    return this.#host.sql.exec<{ n: number }>(`SELECT COUNT(*) AS n FROM ${this.#table} WHERE expires_at >= ''`).one()
      .n;
  }
}
