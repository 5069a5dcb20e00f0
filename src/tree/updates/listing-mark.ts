import { columnOf, type Migration, type SchemaVersions, Tables } from "../../storage/tables.ts";

export const LISTING_MARK_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "up to which row the tokens are on the list of accessors",
    sql: "CREATE TABLE listed (up_to INTEGER NOT NULL);",
  },
];

/**
 * The row up to which the list of accessors has all tokens of a tree. The rows above it are the outbox of the tree:
 * writing a row adds it, and raising the mark removes many at once. A tree of one token has no mark.
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

  /** Called before a token is written in this row. Keeps the mark below it. */
  written(row: number): void {
    if (this.#upTo === null) {
      // The first token counts as listed: the shard that allocated the tree knows of it.
      this.#mark.exec("INSERT INTO listed (up_to) SELECT COALESCE(MAX(row), 0) FROM tokens");
      this.#upTo = this.#read();
    }
    // Isolates number rows independently, so a row can be written after one with a greater number.
    if (this.#upTo !== null && row <= this.#upTo) this.#set(row - 1);
  }

  /** Raises the mark: all tokens up to `row` are listed. */
  listed(row: number): void {
    if (this.#upTo !== null && row > this.#upTo) this.#set(row);
  }

  /** Sets the mark back, because no list has a token of this tree any more. A tree of one token has no mark. */
  listAgain(): void {
    if (this.#upTo !== null) this.#set(0);
  }

  /** The first rows above both the mark and `after`, at most `limit`. */
  outbox(after: number, limit: number): number[] {
    if (this.#upTo === null) return [];
    const from = Math.max(this.#upTo, after);
    return columnOf(this.#sql, "SELECT row FROM tokens WHERE row > ? ORDER BY row LIMIT ?", from, limit);
  }

  /** Removes the mark for a new first token, which the shard that allocated the tree knows of. */
  begin(): void {
    if (this.#upTo !== null) this.#mark.exec("DELETE FROM listed");
    this.#upTo = null;
  }

  /** Resets the mark after the storage of the tree was deleted. */
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
