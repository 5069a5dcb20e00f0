import { type Migration, readVersions, type SchemaVersions, Tables } from "./tables.ts";

export const ORIGIN_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "where the rows of a restored object were first written",
    sql: "CREATE TABLE origin (one INTEGER PRIMARY KEY CHECK (one = 1), id TEXT NOT NULL, next_page INTEGER);",
  },
];

/** The progress of the restore of an object. */
interface Restored {
  /** Id of the object that wrote the rows. */
  readonly id: string;
  /** Number of the next expected page; null: all pages are written. */
  readonly nextPage: number | null;
}

/** The object id that the seals of an object's rows contain: its own, or that of the object it was restored from. */
export class Origin {
  readonly #ownId: string;
  readonly #tables: Tables;
  #restored: Restored | null;

  /** @param versions result of `readVersions`: an object with several schemas reads them once. */
  constructor(sql: SqlStorage, ownId: DurableObjectId, versions: SchemaVersions = readVersions(sql)) {
    this.#ownId = ownId.toString();
    this.#tables = new Tables(sql, ORIGIN_MIGRATIONS, "origin", versions);
    const query = "SELECT id, next_page FROM origin";
    const [row] = this.#tables.exec<{ id: string; next_page: number | null }>(query).toArray();
    this.#restored = row ? { id: row.id, nextPage: row.next_page } : null;
  }

  get id(): string {
    return this.#restored?.id ?? this.#ownId;
  }

  /** null for an object that was never restored. */
  get restored(): Restored | null {
    return this.#restored;
  }

  /** Records that a page was written. @param nextPage null: it was the last one. */
  write(id: string, nextPage: number | null): void {
    this.#tables.exec("INSERT OR REPLACE INTO origin (one, id, next_page) VALUES (1, ?, ?)", id, nextPage);
    this.#restored = { id, nextPage };
  }

  /** Writes the origin again after the storage of the object was deleted: the object keeps its id. */
  keep(): void {
    this.#tables.forget();
    if (this.#restored) this.write(this.#restored.id, this.#restored.nextPage);
  }
}
