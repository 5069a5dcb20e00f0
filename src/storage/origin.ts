import { type Migration, readVersions, Schema, type SchemaVersions } from "./tables.ts";

export const ORIGIN_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "where the rows of a restored object were first written",
    sql: "CREATE TABLE origin (one INTEGER PRIMARY KEY CHECK (one = 1), id TEXT NOT NULL, next_page INTEGER);",
  },
];

/** How far an object is restored. */
interface Restored {
  readonly id: string;
  /** The page that is expected next; null: all pages are here. */
  readonly nextPage: number | null;
}

/**
 * The id under which the rows of an object are sealed: its own, or, for an object that was restored from a backup, the id of the
 * object that wrote them.
 */
export class Origin {
  readonly #sql: SqlStorage;
  readonly #ownId: string;
  readonly #schema: Schema;
  #restored: Restored | null;

  /** @param versions as `readVersions` gives them: an object with several schemas reads them once. */
  constructor(sql: SqlStorage, ownId: DurableObjectId, versions: SchemaVersions = readVersions(sql)) {
    this.#sql = sql;
    this.#ownId = ownId.toString();
    this.#schema = new Schema(sql, ORIGIN_MIGRATIONS, "origin", versions);
    this.#restored = this.#schema.exists ? this.#read() : null;
  }

  get id(): string {
    return this.#restored?.id ?? this.#ownId;
  }

  /** null for an object that is not being restored, and was not. */
  get restored(): Restored | null {
    return this.#restored;
  }

  /** Notes that a page was written. @param nextPage null: it was the last. */
  write(id: string, nextPage: number | null): void {
    this.#schema.create();
    this.#sql.exec("INSERT OR REPLACE INTO origin (one, id, next_page) VALUES (1, ?, ?)", id, nextPage);
    this.#restored = { id, nextPage };
  }

  /** The storage of the object was deleted, and the object goes on under the same id. */
  keep(): void {
    const restored = this.#restored;
    this.#schema.forget();
    if (restored) this.write(restored.id, restored.nextPage);
  }

  #read(): Restored | null {
    const [row] = this.#sql
      .exec<{ id: string; next_page: number | null }>("SELECT id, next_page FROM origin")
      .toArray();
    return row ? { id: row.id, nextPage: row.next_page } : null;
  }
}
