import { DurableObject } from "cloudflare:workers";
import { currentTime } from "../base/clock.ts";
import type { Deployment } from "../base/deployment.ts";
import { err, ok, type Result } from "../base/result.ts";
import {
  dropTables,
  hasTables,
  type ObjectPage,
  type PagePosition,
  type PageRead,
  readObjectPage,
  type StoredRow,
  writeObjectPage,
} from "./object-pages.ts";
import { reportTampering } from "./row-seals.ts";
import { columnOf, type Migration, readVersions, type SchemaVersions, Tables } from "./tables.ts";

export const ORIGIN_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "where the rows of a restored object were first written",
    sql: "CREATE TABLE origin (one INTEGER PRIMARY KEY CHECK (one = 1), id TEXT NOT NULL, next_page INTEGER);",
  },
];

/**
 * The object id that the seals of an object's rows contain, and how far a restore has come. It is the runtime's id of
 * the object, or for a tree also its name (docs/decisions/0017). The table has no seal, so any other stored id is
 * ignored and reported as tampering.
 */
export class ObjectOrigin {
  readonly #ownId: string;
  readonly #isKnownAs: (id: string) => boolean;
  readonly #tables: Tables;
  /**
   * The stored id, and the number of the next expected page (null: all pages are written); null for an object that was
   * never restored.
   */
  #restored: { readonly id: string; readonly nextPage: number | null } | null;

  /** @param isNamed true for the name of the object. */
  constructor(sql: SqlStorage, ownId: DurableObjectId, isNamed: (id: string) => boolean, versions: SchemaVersions) {
    this.#ownId = ownId.toString();
    this.#isKnownAs = (id) => id === this.#ownId || isNamed(id);
    this.#tables = new Tables(sql, ORIGIN_MIGRATIONS, "origin", versions);
    const query = "SELECT id, next_page AS nextPage FROM origin";
    const stored = this.#tables.exec<{ id: string; nextPage: number | null }>(query).toArray()[0] ?? null;
    const isForeign = stored !== null && !this.#isKnownAs(stored.id);
    if (isForeign) reportTampering({ kind: "origin", object: this.#ownId, row: 1 });
    this.#restored = isForeign ? null : stored;
  }

  get id(): string {
    return this.#restored?.id ?? this.#ownId;
  }

  get restored() {
    return this.#restored;
  }

  /** Records that a page of the object `id` was written. @param nextPage null: it was the last one. */
  write(id: string, nextPage: number | null): void {
    const own = this.#isKnownAs(id) ? id : this.#ownId;
    this.#tables.exec("INSERT OR REPLACE INTO origin (one, id, next_page) VALUES (1, ?, ?)", own, nextPage);
    this.#restored = { id: own, nextPage };
  }

  /** Writes the origin again after the storage of the object was deleted: a tree keeps its id. */
  keep(): void {
    this.#tables.forget();
    if (this.#restored) this.write(this.#restored.id, this.#restored.nextPage);
  }

  /** Drops the table: the object counts as never restored. */
  drop(): void {
    this.#tables.exec("DROP TABLE origin");
    this.#tables.forget();
    this.#restored = null;
  }
}

/** Delay of the first alarm of a restored object. The alarm repeats until the installation serves requests. */
const FIRST_ALARM_MS = 30_000;

/** Reason why a page was not written. */
export type PageRefusal = "not empty" | "another page is expected";

/** How an object takes the pages of a backup. */
export interface PageTaking {
  /** True for an object that takes pages in place of its own rows. Any other object must be empty. */
  readonly replaces: boolean;
  /** Seals a row of the object `from` for this object. null: the seals of the rows stay. */
  readonly move: ((table: string, row: StoredRow, from: string) => StoredRow) | null;
}

interface StoredEnv {
  readonly deployment: Pick<Deployment, "moves">;
}

/**
 * A Durable Object whose rows are part of a backup. Rows are exported as they are stored: sealed values and keyed
 * hashes. Members that must not be callable over RPC are fields.
 */
export abstract class StoredObject<Env extends StoredEnv> extends DurableObject<Env> {
  /** The object id that the seals of the rows contain. */
  protected readonly origin: ObjectOrigin;
  /** Returns how pages are written. @throws unless the installation is being restored. */
  protected abstract readonly takesPages: () => Promise<PageTaking>;
  /** Differs for each start of the object, because its count of changes starts at 0. */
  readonly #life = crypto.randomUUID();

  /** @param versions result of `readVersions`. @param isNamed true for a name of the object that its seals may contain. */
  constructor(
    ctx: DurableObjectState,
    env: Env,
    versions: SchemaVersions = readVersions(ctx.storage.sql),
    isNamed: (id: string) => boolean = () => false,
  ) {
    super(ctx, env);
    this.origin = new ObjectOrigin(ctx.storage.sql, ctx.id, isNamed, versions);
  }

  /** Reads a page of the rows for a backup. See `readObjectPage`. */
  exportPage(from: PagePosition | null, maxCharacters: number): PageRead | "changed" | null {
    const { sql } = this.ctx.storage;
    const [changes] = columnOf<number>(sql, "SELECT total_changes()");
    return readObjectPage(sql, this.origin.id, `${this.#life} ${changes}`, from, maxCharacters);
  }

  /**
   * Writes a page of a backup. Only an empty object accepts pages. The caller restarts the object after its last page.
   * A row is sealed for this object if its seal holds for the object that it comes from. Safe to repeat. @throws unless
   * the installation is being restored.
   */
  async importPage(page: ObjectPage): Promise<Result<null, PageRefusal>> {
    const { replaces, move } = await this.takesPages();
    const { restored } = this.origin;
    if (restored?.nextPage === null) return ok(null);
    const begins = page.page === 0;
    if (begins && !restored && !replaces && hasTables(this.ctx.storage.sql)) return err("not empty");
    if (!begins && restored?.nextPage === page.page + 1) return ok(null);
    if (!begins && restored?.nextPage !== page.page) return err("another page is expected");
    this.ctx.storage.transactionSync(() => {
      // An object that changed during the backup was read again from its first page.
      if (begins) dropTables(this.ctx.storage.sql);
      writeObjectPage(this.ctx.storage.sql, page, move && ((table, row) => move(table, row, page.id)));
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

  /** Answers that the object can be reached and stays on its node. See `stubWith`. @throws a lost call otherwise. */
  ping(): void {
    this.env.deployment.moves?.accept();
  }

  /** Does nothing. Objects with background work override it. */
  override alarm(): void | Promise<void> {}
}
