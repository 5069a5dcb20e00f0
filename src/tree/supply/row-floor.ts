import { columnOf, type Migration, type SchemaVersions, Tables } from "../../storage/tables.ts";

export const ROW_FLOOR_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "the greatest row number that a deleted token may have had",
    sql: "CREATE TABLE row_floor (id INTEGER PRIMARY KEY CHECK (id = 0), row INTEGER NOT NULL);",
  },
];

/**
 * The row number up to which a tree writes no token. Batch tokens, leases and sealed values identify their token in the
 * tree by its row number alone. So the number of a deleted token must never become another token's: not when the clock
 * is set back, and not after the tree was freed and allocated again.
 *
 * Invariant: the number of every token that was deleted is at or below the floor.
 */
export class RowFloor {
  readonly #tables: Tables;
  #row: number;

  constructor(sql: SqlStorage, versions: SchemaVersions) {
    this.#tables = new Tables(sql, ROW_FLOOR_MIGRATIONS, "row_floor", versions);
    this.#row = columnOf<number>(this.#tables, "SELECT row FROM row_floor")[0] ?? 0;
  }

  /** The greatest number that must not be used; 0 in a tree that has deleted nothing. */
  get row(): number {
    return this.#row;
  }

  /** Raises the floor to `row`, in the transaction that deletes it. */
  raise(row: number): void {
    if (row <= this.#row) return;
    this.#tables.exec("INSERT OR REPLACE INTO row_floor (id, row) VALUES (0, ?)", row);
    this.#row = row;
  }

  /** Writes the floor again after the storage of the tree was deleted, for a tree that will be allocated again. */
  keep(): void {
    const row = this.#row;
    this.#row = 0;
    this.#tables.forget();
    this.raise(row);
  }
}
