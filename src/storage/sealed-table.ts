import type { SealedKind, SealVerdict } from "../crypto/row-keys.ts";
import { termOfSealed } from "../crypto/sealed-data.ts";
import type { RowSeals, SealedRow } from "./row-seals.ts";

/** A row as it is read from a table with seals. */
export type WithSeal<Row> = Row & { seal: ArrayBuffer | null };

/** Values of the columns of a primary key. */
export type RowKey = readonly (string | number)[];

/** What a table with seals is made of. */
export interface TableShape {
  readonly table: string;
  readonly kind: SealedKind;
  /** Columns of its primary key, in their order. */
  readonly key: readonly string[];
  /** The columns that the seal covers besides. */
  readonly sealed: readonly string[];
  /** The values in a row that `sealData` made. */
  readonly values?: (row: Columns) => readonly Uint8Array[];
}

/** What a check of some rows found. */
export interface CheckedRows {
  /** Rows that got a seal, or one of a newer term. */
  readonly sealed: number;
  /** Rows whose seal does not hold. */
  readonly tampered: number;
  /** Terms of the keys under which values in these rows are sealed: each stays as long as it is needed. */
  readonly terms: readonly number[];
}

type Columns = Record<string, SqlStorageValue>;

/** A table with the column `seal`, whose rows decide about access. */
export class SealedTable<Row extends Columns> {
  readonly #sql: SqlStorage;
  readonly #seals: RowSeals;
  readonly #shape: TableShape;

  constructor(sql: SqlStorage, seals: RowSeals, shape: TableShape) {
    this.#sql = sql;
    this.#seals = seals;
    this.#shape = shape;
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

  /** Seals all rows, when the installation gets its keys. */
  sealAll(): void {
    const rows = this.#sql.exec<WithSeal<Row>>(`SELECT * FROM ${this.#shape.table}`).toArray();
    for (const row of rows) this.seal(row);
  }

  /** Seals a row that was just written. */
  seal(row: Row): void {
    this.#writeSeal(row, this.sealOf(row));
  }

  /** At most `limit` rows after the one with the key `after`; null: from the first. */
  rowsAfter(after: RowKey | null, limit: number): WithSeal<Row>[] {
    const { table, key } = this.#shape;
    const columns = key.join(", ");
    const where = after ? `WHERE (${columns}) > (${key.map(() => "?").join(", ")})` : "";
    return this.#sql
      .exec<WithSeal<Row>>(`SELECT * FROM ${table} ${where} ORDER BY ${columns} LIMIT ?`, ...(after ?? []), limit)
      .toArray();
  }

  /** Checks the seals of rows, and seals those that lack one or have an old one. */
  check(rows: readonly WithSeal<Row>[]): CheckedRows {
    const verdicts = rows.map(
      (row): SealVerdict => this.#seals.check(this.#sealedRow(row), (seal) => this.#writeSeal(row, seal)),
    );
    const values = rows.flatMap((row) => this.#shape.values?.(row) ?? []);
    return {
      sealed: verdicts.filter((verdict) => verdict === "renew").length,
      tampered: verdicts.filter((verdict) => verdict === "forged").length,
      terms: [...new Set(values.map(termOfSealed))],
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

  #writeSeal(row: Row, seal: Uint8Array | null): void {
    const { table, key } = this.#shape;
    const where = key.map((column) => `${column} = ?`).join(" AND ");
    this.#sql.exec(`UPDATE ${table} SET seal = ? WHERE ${where}`, seal, ...this.keyOf(row));
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
