import { currentTime, SoonestTimer } from "../base/clock.ts";
import { SealedTable, Setting, type TableShape, type ValueRow } from "../storage/sealed-table.ts";
import type { Migration } from "../storage/tables.ts";
import type { SystemEnv } from "../system/env.ts";
import { GroveObject } from "../system/grove-object.ts";
import { type RefusedLogin, timeToWait, withRefusals } from "./refused-logins.ts";

/**
 * The object of an auth mount. It also stores the mount's refused logins, in one row. Anyone can cause refused logins,
 * so the row is written at most once per `INTERVAL_MS`; an object that is evicted in between loses the refusals since
 * that write. An object without tables (nothing written yet, or erased) stores none: a refused login must not bring
 * back an erased mount.
 */
export abstract class MountObject<Env extends SystemEnv> extends GroveObject<Env> {
  /** Settings of the mount by name, among them the refused logins. */
  protected readonly settings: SealedTable<ValueRow>;
  readonly #refused: Setting<readonly RefusedLogin[]>;
  readonly #timer = new SoonestTimer();
  /** The stored refusals and those that are not written yet; null before the first use. */
  #refusals: readonly RefusedLogin[] | null = null;
  #writtenAt = Number.NEGATIVE_INFINITY;

  /** @param settings shape of the table of its settings. */
  constructor(ctx: DurableObjectState, env: Env, migrations: readonly Migration[], settings: TableShape) {
    super(ctx, env, migrations);
    this.settings = new SealedTable(this.tables, this.seals, settings);
    this.#refused = new Setting(this.settings, "refused logins");
  }

  /** Adds refused logins to the earlier ones. */
  async addRefusals(more: readonly RefusedLogin[]): Promise<void> {
    await this.refusals();
    // Read after the await: another isolate may have added its own meanwhile.
    this.#refusals = withRefusals(this.#refusals ?? [], more);
    const wait = timeToWait(this.#writtenAt, currentTime());
    if (wait === 0) return this.#write();
    // A write fails while the keys can't be opened. The refusals stay in memory, and the next one writes them.
    this.#timer.in(wait, () => void this.#write().catch(() => undefined));
  }

  /** Returns the recent refused logins. */
  async refusals(): Promise<readonly RefusedLogin[]> {
    await this.keys.open();
    this.#refusals ??= this.#refused.read() ?? [];
    return this.tables.exist ? this.#refusals : [];
  }

  /** Deletes everything when the mount is removed. Safe to repeat. */
  erase(): Promise<void> {
    return this.wipe();
  }

  async #write(): Promise<void> {
    const refusals = await this.refusals();
    if (!this.tables.exist) return;
    this.#writtenAt = currentTime();
    this.#refused.write(refusals);
  }
}
