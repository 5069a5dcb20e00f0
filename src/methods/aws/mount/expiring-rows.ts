import type { SealedKind } from "../../../crypto/row-keys.ts";
import type { SealedTable } from "../../../storage/sealed-table.ts";
import { Rows, type RowsHost, type ValueRow } from "./rows.ts";

/** What a step of the removal met. */
export interface Swept {
  readonly met: number;
  readonly removed: number;
}

/** A table of JSON values by name, each of which ends at some time. Ended rows stay until they are removed. */
export class ExpiringRows<T extends { readonly expiresAt: number }> {
  readonly #host: RowsHost;
  readonly #table: string;
  readonly #rows: Rows<T>;
  /** The table as seals see it. */
  readonly sealed: SealedTable<ValueRow>;

  /**
   * @param table one that migrations make with the columns `name`, `value`, `seal` and `expires_at` (ms), the last indexed.
   * @param kind of its rows.
   */
  constructor(host: RowsHost, table: string, kind: SealedKind) {
    this.#host = host;
    this.#table = table;
    this.#rows = new Rows(host, table, kind);
    this.sealed = this.#rows.sealed;
  }

  read(name: string): T | null {
    return this.#rows.read(name);
  }

  /** True when there is a row, also one that was tampered with. */
  has(name: string): boolean {
    return this.#rows.has(name);
  }

  write(name: string, value: T): void {
    this.#host.create();
    const json = JSON.stringify(value);
    this.#host.sql.exec(
      `INSERT OR REPLACE INTO ${this.#table} (name, value, seal, expires_at) VALUES (?, ?, ?, ?)`,
      name,
      json,
      this.sealed.sealOf({ name, value: json }),
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

  /**
   * Meets at most `limit` rows that ended before `cutoff` (ms), and removes those that `stays` does not keep. The others, and
   * those whose value can't be read, are met again when `again` (ms) has passed.
   */
  sweep(cutoff: number, limit: number, again: number, stays: (name: string, value: T) => boolean): Swept {
    if (!this.#host.exists) return { met: 0, removed: 0 };
    const ended = this.#host.sql
      .exec<{ name: string; value: string }>(
        `SELECT name, value FROM ${this.#table} WHERE expires_at < ? ORDER BY expires_at LIMIT ?`,
        cutoff,
        limit,
      )
      .toArray();
    const kept = ended.filter(({ name, value }) => staysOrUnreadable(name, value, stays)).map(({ name }) => name);
    const keptNames = new Set(kept);
    const gone = ended.map(({ name }) => name).filter((name) => !keptNames.has(name));
    const named = "WHERE name IN (SELECT value FROM json_each(?))";
    if (kept.length > 0) {
      this.#host.sql.exec(`UPDATE ${this.#table} SET expires_at = ? ${named}`, again, JSON.stringify(kept));
    }
    if (gone.length > 0) this.#host.sql.exec(`DELETE FROM ${this.#table} ${named}`, JSON.stringify(gone));
    return { met: ended.length, removed: gone.length };
  }

  /** When the next row ends, or is to be met again (ms), or null. */
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

function staysOrUnreadable<T>(name: string, value: string, stays: (name: string, value: T) => boolean): boolean {
  try {
    return stays(name, JSON.parse(value) as T);
  } catch {
    return true;
  }
}
