/** What rows ask of the database that they are in. */
export interface RowsHost {
  readonly sql: SqlStorage;
  /** False until the first write: an object that is merely asked something has no tables, and gets none. */
  readonly exists: boolean;
  /** Makes the tables. Safe to repeat. */
  create(): void;
}

/** A table of JSON values by name. */
export class Rows<T> {
  readonly #host: RowsHost;
  readonly #table: string;

  /** @param table one that a migration makes with the columns `name` and `value`. */
  constructor(host: RowsHost, table: string) {
    this.#host = host;
    this.#table = table;
  }

  read(name: string): T | null {
    if (!this.#host.exists) return null;
    const row = this.#host.sql
      .exec<{ value: string }>(`SELECT value FROM ${this.#table} WHERE name = ?`, name)
      .toArray()[0];
    return row ? (JSON.parse(row.value) as T) : null;
  }

  write(name: string, value: T): void {
    this.#host.create();
    this.#host.sql.exec(
      `INSERT OR REPLACE INTO ${this.#table} (name, value) VALUES (?, ?)`,
      name,
      JSON.stringify(value),
    );
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
    return this.#host.sql
      .exec<{ value: string }>(`SELECT value FROM ${this.#table} ORDER BY name`)
      .toArray()
      .map((row) => JSON.parse(row.value) as T);
  }

  count(): number {
    if (!this.#host.exists) return 0;
    return this.#host.sql.exec<{ n: number }>(`SELECT COUNT(*) AS n FROM ${this.#table}`).one().n;
  }
}
