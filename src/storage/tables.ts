import { type Migration, Schema, type SchemaVersions } from "./schema.ts";

/** What a statement came to. */
export interface Cursor<Row> extends Iterable<Row> {
  toArray(): Row[];
  /** @throws unless there is exactly one row. */
  one(): Row;
  readonly rowsWritten: number;
}

/** Runs statements: the database of an object, or its tables. */
export interface Sql {
  exec<Row extends Record<string, SqlStorageValue>>(
    query: string,
    ...values: readonly (SqlStorageValue | Uint8Array)[]
  ): Cursor<Row>;
}

/** The values of the one column that a query selects. */
export function columnOf<T extends SqlStorageValue>(
  sql: Sql,
  query: string,
  ...values: readonly (SqlStorageValue | Uint8Array)[]
): T[] {
  const rows = sql.exec<Record<string, T>>(query, ...values).toArray();
  return rows.flatMap((row) => Object.values(row));
}

const INSERT = /^\s*INSERT\b/;

const NOTHING: Cursor<never> = {
  toArray: () => [],
  one: () => {
    throw new Error("there are no tables yet");
  },
  rowsWritten: 0,
  *[Symbol.iterator]() {},
};

/**
 * The tables of an object. The first INSERT makes them, in one transaction with its row. Until then a query finds nothing
 * and other changes change nothing: an object that is merely asked gets no tables.
 */
export class Tables implements Sql {
  readonly #sql: SqlStorage;
  readonly #schema: Schema;

  /** @param name see `Schema`, as for `versions`. */
  constructor(sql: SqlStorage, migrations: readonly Migration[], name?: string, versions?: SchemaVersions) {
    this.#sql = sql;
    this.#schema = new Schema(sql, migrations, name, versions);
  }

  /** False until something is written. */
  get exist(): boolean {
    return this.#schema.exists;
  }

  /** Makes the tables. For a transaction that could be rolled back: an INSERT in it would make them for that long only. */
  create(): void {
    this.#schema.create();
  }

  /** Runs one statement. */
  exec<Row extends Record<string, SqlStorageValue>>(
    query: string,
    ...values: readonly (SqlStorageValue | Uint8Array)[]
  ): Cursor<Row> {
    if (!this.#schema.exists && !INSERT.test(query)) return NOTHING;
    this.#schema.create();
    return this.#sql.exec<Row>(query, ...values);
  }

  /** The whole storage is being deleted: what is written later begins again. */
  forget(): void {
    this.#schema.forget();
  }
}
