import type { SealedKind } from "../../../crypto/row-keys.ts";
import type { RowSeals } from "../../../storage/row-seals.ts";
import { SealedTable, type WithSeal } from "../../../storage/sealed-table.ts";
import { sealedTexts } from "../secrets.ts";

/** What rows ask of the database that they are in. */
export interface RowsHost {
  readonly sql: SqlStorage;
  readonly seals: RowSeals;
  /** False until the first write: an object that is merely asked something has no tables, and gets none. */
  readonly exists: boolean;
  /** Makes the tables. Safe to repeat. */
  create(): void;
}

/** The columns that every such table has. */
export interface ValueRow extends Record<string, SqlStorageValue> {
  name: string;
  value: string;
}

/** A table of JSON values by name, each with a seal. One that was tampered with counts as absent, but for `has`. */
export class Rows<T> {
  readonly #host: RowsHost;
  readonly #table: string;
  /** The table as seals see it. */
  readonly sealed: SealedTable<ValueRow>;

  /**
   * @param table one that migrations make with the columns `name`, `value` and `seal`.
   * @param kind of its rows.
   */
  constructor(host: RowsHost, table: string, kind: SealedKind) {
    this.#host = host;
    this.#table = table;
    this.sealed = new SealedTable(host.sql, host.seals, {
      table,
      kind,
      key: ["name"],
      sealed: ["value"],
      values: ({ value }) => sealedTexts(value),
    });
  }

  read(name: string): T | null {
    const row = this.#find(name);
    return row && this.sealed.admits(row) ? (JSON.parse(row.value) as T) : null;
  }

  /** True when there is a row, also one that was tampered with. */
  has(name: string): boolean {
    return this.#find(name) !== null;
  }

  write(name: string, value: T): void {
    this.#host.create();
    const json = JSON.stringify(value);
    const seal = this.sealed.sealOf({ name, value: json });
    this.#host.sql.exec(`INSERT OR REPLACE INTO ${this.#table} (name, value, seal) VALUES (?, ?, ?)`, name, json, seal);
  }

  /** Safe to repeat. */
  delete(name: string): void {
    if (this.#host.exists) this.#host.sql.exec(`DELETE FROM ${this.#table} WHERE name = ?`, name);
  }

  /** At most `limit` names after `after`, in order. */
  names(after: string, limit: number): string[] {
    if (!this.#host.exists) return [];
    return this.#host.sql
      .exec<{ name: string }>(`SELECT name FROM ${this.#table} WHERE name > ? ORDER BY name LIMIT ?`, after, limit)
      .toArray()
      .map((row) => row.name);
  }

  /** All values, in the order of their names. For tables that are small by a limit of their own. */
  values(): T[] {
    if (!this.#host.exists) return [];
    const rows = this.#host.sql.exec<WithSeal<ValueRow>>(`SELECT * FROM ${this.#table} ORDER BY name`).toArray();
    return this.sealed.admitted(rows).map((row) => JSON.parse(row.value) as T);
  }

  count(): number {
    if (!this.#host.exists) return 0;
    return this.#host.sql.exec<{ n: number }>(`SELECT COUNT(*) AS n FROM ${this.#table}`).one().n;
  }

  #find(name: string): WithSeal<ValueRow> | null {
    if (!this.#host.exists) return null;
    const found = this.#host.sql.exec<WithSeal<ValueRow>>(`SELECT * FROM ${this.#table} WHERE name = ?`, name);
    return found.toArray()[0] ?? null;
  }
}
