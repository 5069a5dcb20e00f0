import type { SealedKind } from "../crypto/row-keys.ts";
import type { RowSeals } from "./row-seals.ts";
import { SealedTable } from "./sealed-table.ts";
import { columnOf, type Sql, storedJson } from "./tables.ts";

/** The columns of a table of values. */
export interface ValueRow extends Record<string, SqlStorageValue> {
  name: string;
  value: string;
}

/** SQL that creates a table of values, for a migration. */
export function valuesTable(table: string): string {
  return `CREATE TABLE ${table} (name TEXT PRIMARY KEY, value TEXT NOT NULL, seal BLOB) WITHOUT ROWID;`;
}

/** A sealed table of JSON values by name. A value with an invalid seal counts as absent, except for `has`. */
export class SealedValues<T> {
  protected readonly sql: Sql;
  protected readonly table: string;
  readonly #sealed: SealedTable<ValueRow>;

  /**
   * @param table has the columns of `valuesTable`, and possibly others.
   * @param secretsIn returns the values in the JSON text of a row that `sealText` encrypted.
   */
  constructor(
    sql: Sql,
    seals: RowSeals,
    table: string,
    kind: SealedKind,
    secretsIn: (value: string) => readonly Uint8Array[] = () => [],
  ) {
    this.sql = sql;
    this.table = table;
    const values = ({ value }: Record<string, SqlStorageValue>) => secretsIn(String(value));
    this.#sealed = new SealedTable(sql, seals, { table, kind, key: ["name"], sealed: ["value"], values });
  }

  read(name: string): T | null {
    const row = this.#sealed.find(name);
    return row && storedJson<T>(row.value);
  }

  /** True when there is a row, also one with an invalid seal. */
  has(name: string): boolean {
    return this.sql.exec(`SELECT 1 FROM ${this.table} WHERE name = ?`, name).toArray().length > 0;
  }

  /** Creates or replaces a value. @param columns values of the other columns of the table. */
  write(name: string, value: T, columns: Readonly<Record<string, SqlStorageValue>> = {}): void {
    this.#sealed.put({ ...columns, name, value: JSON.stringify(value) });
  }

  /** Deletes a value. Safe to repeat. */
  delete(name: string): void {
    this.#sealed.delete(name);
  }

  /** At most `limit` names after `after`, sorted. */
  names(after: string, limit: number): string[] {
    const query = `SELECT name FROM ${this.table} WHERE name > ? ORDER BY name LIMIT ?`;
    return columnOf(this.sql, query, after, limit);
  }

  /** All values, sorted by name. For tables whose number of rows has a limit. */
  values(): T[] {
    return this.#sealed.list("ORDER BY name").map((row) => storedJson<T>(row.value));
  }

  /** Names and values whose JSON contains the string `item`, sorted by name. Reads the whole table. */
  holding(item: string): (readonly [name: string, value: T])[] {
    const rows = this.#sealed.list("WHERE instr(value, ?) > 0 ORDER BY name", JSON.stringify(item));
    return rows.map(({ name, value }) => [name, storedJson<T>(value)]);
  }

  count(): number {
    return this.#sealed.count();
  }
}

/** One row of a table of settings, whose values have different types. */
export class Setting<T> {
  readonly #rows: SealedTable<ValueRow>;
  readonly #name: string;

  constructor(rows: SealedTable<ValueRow>, name: string) {
    this.#rows = rows;
    this.#name = name;
  }

  /** The value; null without one, or when its seal is invalid. */
  read(): T | null {
    const row = this.#rows.find(this.#name);
    return row && storedJson<T>(row.value);
  }

  /** True when there is a value with an invalid seal. */
  get isTampered(): boolean {
    return this.read() === null && this.#rows.count("WHERE name = ?", this.#name) > 0;
  }

  write(value: T): void {
    this.#rows.put({ name: this.#name, value: JSON.stringify(value) });
  }

  /** Deletes the value. Safe to repeat. */
  delete(): void {
    this.#rows.delete(this.#name);
  }
}
