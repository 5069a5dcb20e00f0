import type { SealedKind } from "../crypto/row-keys.ts";
import { termOfSealed } from "../crypto/sealed-data.ts";
import type { StoredRow } from "./object-pages.ts";
import type { CheckedPage, RowKey, RowSeals, SealedColumns, SealedRow } from "./row-seals.ts";
import { columnOf, type Sql, storedJson, upsert } from "./tables.ts";

/** A row as it is read from a sealed table. */
export type WithSeal<Row> = Row & { seal: ArrayBuffer | null };

type Columns = Record<string, SqlStorageValue>;

export interface TableShape extends SealedColumns {
  /** Returns the values in a row that `sealText` encrypted. */
  readonly values?: (row: Columns) => readonly Uint8Array[];
}

/** A table with the column `seal`, whose rows decide about access. A row with an invalid seal counts as absent. */
export class SealedTable<Row extends Columns> {
  readonly shape: TableShape;
  readonly #sql: Sql;
  readonly #seals: RowSeals;

  constructor(sql: Sql, seals: RowSeals, shape: TableShape) {
    this.#sql = sql;
    this.#seals = seals;
    this.shape = shape;
    seals.add(this);
  }

  /** The row with this key, or null. */
  find(...key: RowKey): WithSeal<Row> | null {
    return this.list(this.#whereKey, ...key)[0] ?? null;
  }

  /** Deletes the row with this key, also one with an invalid seal. Safe to repeat. */
  delete(...key: RowKey): void {
    this.#sql.exec(`DELETE FROM ${this.shape.table} ${this.#whereKey}`, ...key);
  }

  /** Number of rows, including those with an invalid seal. @param which as in `list`. */
  count(which = "", ...values: SqlStorageValue[]): number {
    const query = `SELECT COUNT(*) FROM ${this.shape.table} ${which}`;
    return columnOf<number>(this.#sql, query, ...values)[0] ?? 0;
  }

  /** The rows that `which` selects: SQL after the name of the table, such as WHERE and ORDER BY. */
  list(which = "", ...values: SqlStorageValue[]): WithSeal<Row>[] {
    return this.judged(which, ...values).good;
  }

  /** The rows of `list`, and separately those with an invalid seal. */
  judged(which = "", ...values: SqlStorageValue[]) {
    const rows = this.#sql.exec<WithSeal<Row>>(`SELECT * FROM ${this.shape.table} ${which}`, ...values).toArray();
    const { good = [], tampered = [] } = Object.groupBy(rows, (row) => (this.admits(row) ? "good" : "tampered"));
    return { good, tampered };
  }

  /** Inserts a row with its seal, or replaces the one with its key. */
  put(row: Row): void {
    upsert(this.#sql, this.shape.table, this.shape.key, { ...row, seal: this.sealOf(row) });
  }

  admitted(rows: readonly WithSeal<Row>[]): WithSeal<Row>[] {
    return rows.filter((row) => this.admits(row));
  }

  admits(row: WithSeal<Row>): boolean {
    return this.#seals.admit(this.sealedRow(row), (seal) => this.#writeSeal(row, seal));
  }

  sealOf(row: Row): Uint8Array<ArrayBuffer> {
    const { kind, row: name, content } = this.sealedRow(row);
    return this.#seals.make(kind, name, content);
  }

  hasSeals(): boolean {
    return this.count("WHERE seal IS NOT NULL LIMIT 1") > 0;
  }

  /** Checks at most `limit` rows after the key `after` (null: from the first), and renews seals of older terms. */
  checkAfter(after: RowKey | null, limit: number): CheckedPage {
    const { table, key, values } = this.shape;
    const columns = key.join(", ");
    const where = after ? `WHERE (${columns}) > (${key.map(() => "?").join(", ")})` : "";
    const query = `SELECT * FROM ${table} ${where} ORDER BY ${columns} LIMIT ?`;
    const rows = this.#sql.exec<WithSeal<Row>>(query, ...(after ?? []), limit).toArray();
    const verdicts = rows.map((row) => this.#seals.check(this.sealedRow(row), (seal) => this.#writeSeal(row, seal)));
    const last = rows.at(-1);
    return {
      sealed: verdicts.filter((verdict) => verdict === "renew").length,
      tampered: verdicts.filter((verdict) => verdict === "forged").length,
      terms: [...new Set(rows.flatMap((row) => values?.(row) ?? []).map(termOfSealed))],
      count: rows.length,
      last: last ? this.#keyOf(last) : null,
    };
  }

  /** The part of a row that its seal covers, and the seal. */
  sealedRow(row: StoredRow): SealedRow {
    const { kind, sealed } = this.shape;
    const content = sealed.map((column) => contentOf(row[column]));
    const { seal } = row;
    return { kind, row: nameOf(this.#keyOf(row)), content, seal: seal instanceof ArrayBuffer ? seal : null };
  }

  #keyOf(row: StoredRow): RowKey {
    return this.shape.key.map((column) => {
      const value = row[column];
      if (typeof value !== "string" && typeof value !== "number") throw new Error("a key is a text or a number");
      return value;
    });
  }

  get #whereKey(): string {
    return `WHERE ${this.shape.key.map((column) => `${column} = ?`).join(" AND ")}`;
  }

  #writeSeal(row: Row, seal: Uint8Array): void {
    this.#sql.exec(`UPDATE ${this.shape.table} SET seal = ? ${this.#whereKey}`, seal, ...this.#keyOf(row));
  }
}

/** The key of a row as one value. Several columns become JSON, so that different keys never give the same text. */
function nameOf(key: RowKey): string | number {
  const [only] = key;
  return key.length === 1 && only !== undefined ? only : JSON.stringify(key);
}

/** The values of some columns that are bytes. */
export function blobsOf(columns: readonly (SqlStorageValue | undefined)[]): Uint8Array[] {
  return columns.flatMap((value) => (value instanceof ArrayBuffer ? [new Uint8Array(value)] : []));
}

function contentOf(value: SqlStorageValue | undefined): string | number | null | Uint8Array {
  return value instanceof ArrayBuffer ? new Uint8Array(value) : (value ?? null);
}

export type ValueRow = { name: string; value: string };

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

  delete(name: string): void {
    this.#sealed.delete(name);
  }

  names(after: string, limit: number): string[] {
    const query = `SELECT name FROM ${this.table} WHERE name > ? ORDER BY name LIMIT ?`;
    return columnOf(this.sql, query, after, limit);
  }

  /** All values, sorted by name. For tables whose number of rows has a limit. */
  values(): T[] {
    return this.entries().map(([, value]) => value);
  }

  /** As `values`, with their names. */
  entries(): (readonly [name: string, value: T])[] {
    return this.#sealed.list("ORDER BY name").map(({ name, value }) => [name, storedJson<T>(value)]);
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
