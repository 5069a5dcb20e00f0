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
import { Origin } from "./origin.ts";
import { columnOf, readVersions, type SchemaVersions } from "./tables.ts";

/** An object that was restored looks at its rows so much later (ms), and again until the installation serves requests. */
const FIRST_ALARM_MS = 30_000;

/** Why a page was not written. */
export type PageRefusal = "not empty" | "another page is expected";

/** Which objects take pages: those without any, or also one with the rows of a new installation. */
export type TakesPages = "empty" | "new";

/**
 * A Durable Object whose rows a backup holds. They leave it as they are stored: sealed values and keyed hashes, nothing is opened.
 * What is for its class alone are fields, which no other object can call.
 */
export abstract class StoredObject<Env> extends DurableObject<Env> {
  /** Where the rows were first written, and so the id that their seals hold for. */
  protected readonly origin: Origin;
  /** Says whether pages may be written. @throws unless the installation is being restored. */
  protected abstract readonly takesPages: () => Promise<TakesPages>;
  /** Another one with each start of the object, as its count of changes begins again. */
  readonly #life = crypto.randomUUID();

  /** @param versions as `readVersions` gives them. */
  constructor(ctx: DurableObjectState, env: Env, versions: SchemaVersions = readVersions(ctx.storage.sql)) {
    super(ctx, env);
    this.origin = new Origin(ctx.storage.sql, ctx.id, versions);
  }

  /** Reads some of what is stored, for a backup. See `readObjectPage`. */
  exportPage(from: PagePosition | null, maxCharacters: number): PageRead | "changed" | null {
    const { sql } = this.ctx.storage;
    const [changes] = columnOf<number>(sql, "SELECT total_changes()");
    return readObjectPage(sql, this.origin.id, `${this.#life} ${changes}`, from, maxCharacters);
  }

  /**
   * Writes a page of a backup. Only an object that holds nothing takes one, and only while the installation is being restored. Safe to
   * repeat. The object is restarted after its last page.
   *
   * @throws unless the installation is being restored.
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
      // One that had changed was read again from its beginning.
      if (begins) dropTables(this.ctx.storage.sql);
      writeObjectPage(this.ctx.storage.sql, page);
      this.origin.write(page.id, page.isLast ? null : page.page + 1);
    });
    return ok(null);
  }

  /** Ends this start of the object: the next one reads what is stored, and its alarm comes. The caller gets an error. */
  async restart(): Promise<void> {
    await this.ctx.storage.setAlarm(currentTime() + FIRST_ALARM_MS);
    await this.ctx.storage.sync();
    this.ctx.abort("the object is restored");
  }

  /** Most objects have something to do by themselves, and override this. */
  override alarm(): void | Promise<void> {}
}
