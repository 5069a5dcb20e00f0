import type { SealedKind } from "../crypto/row-keys.ts";
import type { RowSeals } from "./row-seals.ts";
import { SealedTable } from "./sealed-table.ts";
import { columnOf, type Sql, storedJson } from "./tables.ts";

/** The columns of a table of values. */
export interface ValueRow extends Record<string, SqlStorageValue> {
  name: string;
  value: string;
}

/** Makes a table of values, for a migration. */
export function valuesTable(table: string): string {
  return `CREATE TABLE ${table} (name TEXT PRIMARY KEY, value TEXT NOT NULL, seal BLOB) WITHOUT ROWID;`;
}

/** A table of JSON values by name, each with a seal. One that was tampered with counts as absent, but for `has`. */
export class SealedValues<T> {
  protected readonly sql: Sql;
  protected readonly table: string;
  readonly #sealed: SealedTable<ValueRow>;

  /**
   * @param table made with the columns of `valuesTable`; it may have others.
   * @param kind of its rows.
   * @param secretsIn the values in the text of a row that `sealText` made.
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

  /** True when there is a row, also one that was tampered with. */
  has(name: string): boolean {
    return this.sql.exec(`SELECT 1 FROM ${this.table} WHERE name = ?`, name).toArray().length > 0;
  }

  /** @param columns values of the other columns of the table. */
  write(name: string, value: T, columns: Readonly<Record<string, SqlStorageValue>> = {}): void {
    this.#sealed.put({ ...columns, name, value: JSON.stringify(value) });
  }

  /** Safe to repeat. */
  delete(name: string): void {
    this.#sealed.delete(name);
  }

  /** At most `limit` names after `after`, in order. */
  names(after: string, limit: number): string[] {
    const query = `SELECT name FROM ${this.table} WHERE name > ? ORDER BY name LIMIT ?`;
    return columnOf(this.sql, query, after, limit);
  }

  /** All values, in the order of their names. For tables that are small by a limit of their own. */
  values(): T[] {
    return this.#sealed.list("ORDER BY name").map((row) => storedJson<T>(row.value));
  }

  /** Names and values of those whose JSON has `item` somewhere as a text, in the order of their names. Reads the whole table. */
  holding(item: string): (readonly [name: string, value: T])[] {
    const rows = this.#sealed.list("WHERE instr(value, ?) > 0 ORDER BY name", JSON.stringify(item));
    return rows.map(({ name, value }) => [name, storedJson<T>(value)]);
  }

  count(): number {
    return this.#sealed.count();
  }
}

/** One value of a table of settings, whose rows have values of different types. */
export class Setting<T> {
  readonly #rows: SealedTable<ValueRow>;
  readonly #name: string;

  constructor(rows: SealedTable<ValueRow>, name: string) {
    this.#rows = rows;
    this.#name = name;
  }

  /** null when there is none, or when it was tampered with. */
  read(): T | null {
    const row = this.#rows.find(this.#name);
    return row && storedJson<T>(row.value);
  }

  /** True when there is a value that was tampered with. */
  get isTampered(): boolean {
    return this.read() === null && this.#rows.count("WHERE name = ?", this.#name) > 0;
  }

  write(value: T): void {
    this.#rows.put({ name: this.#name, value: JSON.stringify(value) });
  }

  /** Safe to repeat. */
  delete(): void {
    this.#rows.delete(this.#name);
  }
}
