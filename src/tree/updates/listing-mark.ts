import { columnOf, type Migration, type SchemaVersions, Tables } from "../../storage/tables.ts";

export const LISTING_MARK_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "up to which row the tokens are on the list of accessors",
    sql: "CREATE TABLE listed (up_to INTEGER NOT NULL);",
  },
];

/**
 * Up to which row the list of accessors has the tokens of a tree. What comes after it is the outbox of the tree: a row is in
 * it by being written, and one number takes many out of it. There is none in a tree of one token.
 */
export class ListingMark {
  readonly #sql: SqlStorage;
  readonly #mark: Tables;
  #upTo: number | null;

  constructor(sql: SqlStorage, versions: SchemaVersions) {
    this.#sql = sql;
    this.#mark = new Tables(sql, LISTING_MARK_MIGRATIONS, "listed", versions);
    this.#upTo = this.#read();
  }

  /** The row; null in a tree that has not had a second token. */
  get upTo(): number | null {
    return this.#upTo;
  }

  /** A token is about to be written in this row. */
  written(row: number): void {
    if (this.#upTo === null) {
      // The shard that handed out the tree knows its first token.
      this.#mark.exec("INSERT INTO listed (up_to) SELECT COALESCE(MAX(row), 0) FROM tokens");
      this.#upTo = this.#read();
    }
    // Rows are numbered by many isolates: one can come after a later one.
    if (this.#upTo !== null && row <= this.#upTo) this.#set(row - 1);
  }

  /** All tokens up to `row` are listed. */
  listed(row: number): void {
    if (this.#upTo !== null && row > this.#upTo) this.#set(row);
  }

  /** No list has a token of this tree any more. A tree of one token has no mark. */
  listAgain(): void {
    if (this.#upTo !== null) this.#set(0);
  }

  /** Rows after the mark and after `after`: the first ones, at most `limit`. */
  outbox(after: number, limit: number): number[] {
    if (this.#upTo === null) return [];
    const from = Math.max(this.#upTo, after);
    return columnOf(this.#sql, "SELECT row FROM tokens WHERE row > ? ORDER BY row LIMIT ?", from, limit);
  }

  /** The tree begins with its first token, which the shard that handed out the tree knows of. */
  begin(): void {
    if (this.#upTo !== null) this.#mark.exec("DELETE FROM listed");
    this.#upTo = null;
  }

  /** The storage of the tree was deleted. */
  forget(): void {
    this.#mark.forget();
    this.#upTo = null;
  }

  #read(): number | null {
    return this.#mark.exec<{ up_to: number }>("SELECT up_to FROM listed").toArray()[0]?.up_to ?? null;
  }

  #set(row: number): void {
    this.#upTo = row;
    this.#mark.exec("UPDATE listed SET up_to = ?", row);
  }
}
