import { DurableObject } from "cloudflare:workers";
import { currentTime } from "../base/clock.ts";
import { err, ok, type Result } from "../base/result.ts";
import {
  dropTables,
  hasTables,
  type ObjectPage,
  type PagePosition,
  type PageRead,
  readObjectPage,
  writeObjectPage,
} from "./object-pages.ts";
import { columnOf, type Migration, readVersions, type SchemaVersions, Tables } from "./tables.ts";

export const ORIGIN_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "where the rows of a restored object were first written",
    sql: "CREATE TABLE origin (one INTEGER PRIMARY KEY CHECK (one = 1), id TEXT NOT NULL, next_page INTEGER);",
  },
];

/** The object id that the seals of an object's rows contain: its own, or that of the object it was restored from. */
export class Origin {
  readonly #ownId: string;
  readonly #tables: Tables;
  /**
   * The object that wrote the rows, and the number of the next expected page (null: all pages are written); null for an
   * object that was never restored.
   */
  #restored: { readonly id: string; readonly nextPage: number | null } | null;

  constructor(sql: SqlStorage, ownId: DurableObjectId, versions: SchemaVersions) {
    this.#ownId = ownId.toString();
    this.#tables = new Tables(sql, ORIGIN_MIGRATIONS, "origin", versions);
    const query = "SELECT id, next_page AS nextPage FROM origin";
    this.#restored = this.#tables.exec<{ id: string; nextPage: number | null }>(query).toArray()[0] ?? null;
  }

  get id(): string {
    return this.#restored?.id ?? this.#ownId;
  }

  get restored() {
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

/** Delay (ms) of the first alarm of a restored object. The alarm repeats until the installation serves requests. */
const FIRST_ALARM_MS = 30_000;

/** Reason why a page was not written. */
export type PageRefusal = "not empty" | "another page is expected";

/** Objects that accept pages: "empty" ones, or also one with the rows of a "new" installation. */
export type TakesPages = "empty" | "new";

/**
 * A Durable Object whose rows are part of a backup. Rows are exported as they are stored: sealed values and keyed
 * hashes. Members that must not be callable over RPC are fields.
 */
export abstract class StoredObject<Env> extends DurableObject<Env> {
  /** The object id that the seals of the rows contain. */
  protected readonly origin: Origin;
  /** Tells whether pages may be written. @throws unless the installation is being restored. */
  protected abstract readonly takesPages: () => Promise<TakesPages>;
  /** Differs for each start of the object, because its count of changes starts at 0. */
  readonly #life = crypto.randomUUID();

  /** @param versions result of `readVersions`. */
  constructor(ctx: DurableObjectState, env: Env, versions: SchemaVersions = readVersions(ctx.storage.sql)) {
    super(ctx, env);
    this.origin = new Origin(ctx.storage.sql, ctx.id, versions);
  }

  /** Reads a page of the rows for a backup. See `readObjectPage`. */
  exportPage(from: PagePosition | null, maxCharacters: number): PageRead | "changed" | null {
    const { sql } = this.ctx.storage;
    const [changes] = columnOf<number>(sql, "SELECT total_changes()");
    return readObjectPage(sql, this.origin.id, `${this.#life} ${changes}`, from, maxCharacters);
  }

  /**
   * Writes a page of a backup. Only an empty object accepts pages. The caller restarts the object after its last page.
   * Safe to repeat. @throws unless the installation is being restored.
   */
  async importPage(page: ObjectPage): Promise<Result<null, PageRefusal>> {
    const takes = await this.takesPages();
    const { restored } = this.origin;
    if (restored?.nextPage === null) return ok(null);
    const begins = page.page === 0;
    if (begins && !restored && takes === "empty" && hasTables(this.ctx.storage.sql)) return err("not empty");
    if (!begins && restored?.nextPage === page.page + 1) return ok(null);
    if (!begins && restored?.nextPage !== page.page) return err("another page is expected");
    this.ctx.storage.transactionSync(() => {
      // An object that changed during the backup was read again from its first page.
      if (begins) dropTables(this.ctx.storage.sql);
      writeObjectPage(this.ctx.storage.sql, page);
      this.origin.write(page.id, page.isLast ? null : page.page + 1);
    });
    return ok(null);
  }

  /** Restarts the object, so that it reads the restored rows and its alarm runs. The caller gets an error. */
  async restart(): Promise<void> {
    await this.ctx.storage.setAlarm(currentTime() + FIRST_ALARM_MS);
    await this.ctx.storage.sync();
    this.ctx.abort("the object is restored");
  }

  /** Does nothing. Objects with background work override it. */
  override alarm(): void | Promise<void> {}
}
