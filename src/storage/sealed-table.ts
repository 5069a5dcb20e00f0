import type { SealedKind, SealVerdict } from "../crypto/row-keys.ts";
import { termOfSealed } from "../crypto/sealed-data.ts";
import type { CheckedPage, CheckedTable, RowKey, RowSeals, SealedRow } from "./row-seals.ts";
import { columnOf, type Sql } from "./tables.ts";

/** A row as it is read from a table with seals. */
export type WithSeal<Row> = Row & { seal: ArrayBuffer | null };

/** What a table with seals is made of. */
export interface TableShape {
  readonly table: string;
  readonly kind: SealedKind;
  /** Columns of its primary key, in their order. */
  readonly key: readonly string[];
  /** The columns that the seal covers besides. */
  readonly sealed: readonly string[];
  /** The values in a row that `sealText` made. */
  readonly values?: (row: Columns) => readonly Uint8Array[];
}

type Columns = Record<string, SqlStorageValue>;

/** Rows by whether their seals hold. */
export interface JudgedRows<Row> {
  readonly good: Row[];
  readonly tampered: Row[];
}

/** A table with the column `seal`, whose rows decide about access. */
export class SealedTable<Row extends Columns> implements CheckedTable {
  readonly #sql: Sql;
  readonly #seals: RowSeals;
  readonly #shape: TableShape;

  constructor(sql: Sql, seals: RowSeals, shape: TableShape) {
    this.#sql = sql;
    this.#seals = seals;
    this.#shape = shape;
    seals.add(this);
  }

  /** The row with this key; null also when its seal does not hold. */
  find(...key: RowKey): WithSeal<Row> | null {
    return this.list(this.#whereKey, ...key)[0] ?? null;
  }

  /** Deletes the row with this key, whether its seal holds or not. Safe to repeat. */
  delete(...key: RowKey): void {
    this.#sql.exec(`DELETE FROM ${this.#shape.table} ${this.#whereKey}`, ...key);
  }

  /** How many rows there are, those included whose seal does not hold. @param which of them, as in `list`. */
  count(which = "", ...values: SqlStorageValue[]): number {
    const query = `SELECT COUNT(*) FROM ${this.#shape.table} ${which}`;
    return columnOf<number>(this.#sql, query, ...values)[0] ?? 0;
  }

  /**
   * The rows whose seal holds.
   *
   * @param which which of them, and in which order: SQL that follows the name of the table.
   */
  list(which = "", ...values: SqlStorageValue[]): WithSeal<Row>[] {
    return this.judged(which, ...values).good;
  }

  /** The same rows, and apart from them those whose seal does not hold. */
  judged(which = "", ...values: SqlStorageValue[]): JudgedRows<WithSeal<Row>> {
    const rows = this.#sql.exec<WithSeal<Row>>(`SELECT * FROM ${this.#shape.table} ${which}`, ...values).toArray();
    const { good = [], tampered = [] } = Object.groupBy(rows, (row) => (this.admits(row) ? "good" : "tampered"));
    return { good, tampered };
  }

  /** Writes a row with its seal: a new one, or in the place of the one with its key. */
  put(row: Row): void {
    const { table, key } = this.#shape;
    const { seal: _, ...columns } = row;
    const names = [...Object.keys(columns), "seal"];
    const changed = names.filter((name) => !key.includes(name)).map((name) => `${name} = excluded.${name}`);
    this.#sql.exec(
      `INSERT INTO ${table} (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")})
       ON CONFLICT (${key.join(", ")}) DO UPDATE SET ${changed.join(", ")}`,
      ...Object.values(columns),
      this.sealOf(row),
    );
  }

  /** Those of `rows` that may be used. */
  admitted(rows: readonly WithSeal<Row>[]): WithSeal<Row>[] {
    return rows.filter((row) => this.admits(row));
  }

  /** True when a row that was read may be used. */
  admits(row: WithSeal<Row>): boolean {
    return this.#seals.admit(this.#sealedRow(row), (seal) => this.#writeSeal(row, seal));
  }

  /** The seal for a row that is being written. */
  sealOf(row: Row): Uint8Array<ArrayBuffer> | null {
    const { kind, row: name, content } = this.#sealedRow({ ...row, seal: null });
    return this.#seals.make(kind, name, content);
  }

  /** See `CheckedTable`. */
  sealAll(): void {
    const rows = this.#sql.exec<WithSeal<Row>>(`SELECT * FROM ${this.#shape.table}`).toArray();
    for (const row of rows) this.#writeSeal(row, this.sealOf(row));
  }

  /** See `CheckedTable`. Rows with a seal of an older term are sealed again. */
  checkAfter(after: RowKey | null, limit: number): CheckedPage {
    const { table, key } = this.#shape;
    const columns = key.join(", ");
    const where = after ? `WHERE (${columns}) > (${key.map(() => "?").join(", ")})` : "";
    const rows = this.#sql
      .exec<WithSeal<Row>>(`SELECT * FROM ${table} ${where} ORDER BY ${columns} LIMIT ?`, ...(after ?? []), limit)
      .toArray();
    const verdicts = rows.map(
      (row): SealVerdict => this.#seals.check(this.#sealedRow(row), (seal) => this.#writeSeal(row, seal)),
    );
    const values = rows.flatMap((row) => this.#shape.values?.(row) ?? []);
    const last = rows.at(-1);
    return {
      sealed: verdicts.filter((verdict) => verdict === "renew").length,
      tampered: verdicts.filter((verdict) => verdict === "forged").length,
      terms: [...new Set(values.map(termOfSealed))],
      count: rows.length,
      last: last ? this.keyOf(last) : null,
    };
  }

  /** The values of a row's key. */
  keyOf(row: Row): RowKey {
    return this.#shape.key.map((column) => {
      const value = row[column];
      if (typeof value !== "string" && typeof value !== "number") throw new Error("a key is a text or a number");
      return value;
    });
  }

  #sealedRow(row: WithSeal<Row>): SealedRow {
    const { kind, sealed } = this.#shape;
    const content = sealed.map((column) => contentOf(row[column]));
    return { kind, row: nameOf(this.keyOf(row)), content, seal: row.seal };
  }

  get #whereKey(): string {
    return `WHERE ${this.#shape.key.map((column) => `${column} = ?`).join(" AND ")}`;
  }

  #writeSeal(row: Row, seal: Uint8Array | null): void {
    this.#sql.exec(`UPDATE ${this.#shape.table} SET seal = ? ${this.#whereKey}`, seal, ...this.keyOf(row));
  }
}

/** The key of a row as one value. As JSON where it has several: no two keys read the same. */
function nameOf(key: RowKey): string | number {
  const [only] = key;
  return key.length === 1 && only !== undefined ? only : JSON.stringify(key);
}

/** Those of some columns that hold bytes. */
export function blobsOf(columns: readonly (SqlStorageValue | undefined)[]): Uint8Array[] {
  return columns.flatMap((value) => (value instanceof ArrayBuffer ? [new Uint8Array(value)] : []));
}

function contentOf(value: SqlStorageValue | undefined): string | number | null | Uint8Array {
  return value instanceof ArrayBuffer ? new Uint8Array(value) : (value ?? null);
}
