import type { CallAttempt } from "../base/lost-call-retry.ts";
import type { RowKeys } from "../crypto/row-keys.ts";
import { CarriedOutCalls } from "../storage/carried-out-calls.ts";
import { ObjectAlarm } from "../storage/object-alarm.ts";
import type { StoredRow } from "../storage/object-pages.ts";
import { NOTHING_TO_CHECK, RowSeals, type SealPosition, type SealStep } from "../storage/row-seals.ts";
import { type PageTaking, StoredObject } from "../storage/stored-object.ts";
import { type Migration, readVersions, Tables } from "../storage/tables.ts";
import type { SystemEnv } from "./env.ts";
import { loadForAlarm, mustBeRestoring, mustLoadInstallation } from "./installation.ts";

/**
 * The keys of the seals of an object's rows. Every method that reads or writes sealed rows opens them first. The rest
 * of the method needs no await and so is one transaction.
 */
class ObjectKeys {
  readonly #env: SystemEnv;
  readonly #opening: () => Promise<void>;
  #keys: RowKeys | null = null;

  /** @param opening called before each opening, which nearly every call of the object begins with. */
  constructor(env: SystemEnv, opening: () => Promise<void>) {
    this.#env = env;
    this.#opening = opening;
  }

  /** Takes the keys from the isolate's copy of the installation. @throws while the service is sealed. */
  async open(): Promise<void> {
    await this.#opening();
    this.#keys = (await mustLoadInstallation(this.#env)).keys.rows;
  }

  /**
   * Takes the keys for the work of an alarm. False while the service is sealed, and during a restore: objects that the
   * alarm calls may not have their rows yet.
   */
  async openForAlarm(): Promise<boolean> {
    const loaded = await loadForAlarm(this.#env);
    if (loaded === null || loaded.restoring !== null) return false;
    this.#keys = loaded.keys.rows;
    return true;
  }

  /** The keys as they were last opened. @throws before the first opening. */
  get(): RowKeys {
    if (!this.#keys) throw new Error("a row was read before the keys for its seal");
    return this.#keys;
  }
}

/**
 * Base of Grove's Durable Objects: tables that are created by the first write, sealed rows, and one alarm. Helpers of a
 * class are instance fields and not methods, as methods can be called over RPC.
 */
export abstract class GroveObject<Env extends SystemEnv> extends StoredObject<Env> {
  protected readonly tables: Tables;
  /** Every method that reads or writes sealed rows opens them first. */
  protected readonly keys: ObjectKeys;
  protected readonly seals: RowSeals;
  protected readonly alarms: ObjectAlarm;
  protected readonly carriedOut: CarriedOutCalls;
  protected override readonly takesPages = async (): Promise<PageTaking> => {
    await mustBeRestoring(this.env);
    await this.keys.open();
    const { seals, restoredRow } = this;
    return { replaces: false, move: (table, row, from) => seals.moved(table, restoredRow(table, row), from) };
  };
  /** How a restore writes a row of a backup: as it is, unless a class says otherwise. */
  protected readonly restoredRow: (table: string, row: StoredRow) => StoredRow = (_, row) => row;
  /** Deletes everything that the object has stored, and its alarm. */
  protected readonly wipe = (): Promise<void> => {
    this.tables.forget();
    this.carriedOut.forget();
    this.alarms.forget();
    this.origin.drop();
    return this.ctx.storage.deleteAll();
  };

  constructor(ctx: DurableObjectState, env: Env, migrations: readonly Migration[]) {
    const versions = readVersions(ctx.storage.sql);
    super(ctx, env, versions);
    this.tables = new Tables(ctx.storage.sql, migrations, undefined, versions);
    this.keys = new ObjectKeys(env, () => this.alarms.renewLost());
    this.seals = new RowSeals(this.origin.id, () => this.keys.get());
    this.carriedOut = new CarriedOutCalls(ctx.storage.sql, versions);
    this.alarms = new ObjectAlarm(ctx.storage, () => this.keys.openForAlarm());
  }

  /** Checks the seals of some rows, for tidy. */
  async checkSeals(from: SealPosition | null): Promise<SealStep> {
    if (!this.tables.exist) return NOTHING_TO_CHECK;
    await this.keys.open();
    return this.seals.checkStep(from);
  }

  /**
   * Deletes what has a name, unless another attempt of the call has: a successor may have the name by now. Creates no
   * tables.
   */
  protected deleteOnce(attempt: CallAttempt, remove: () => void): void {
    if (this.carriedOut.has(attempt, "write") || !this.tables.exist) return;
    remove();
    this.carriedOut.add(attempt, "write");
  }

  /** Runs the work of the object that is due. */
  override alarm(): Promise<void> {
    return this.alarms.run();
  }
}
