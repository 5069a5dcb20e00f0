import type { RowKeys } from "../crypto/row-keys.ts";
import { ObjectAlarm } from "../storage/object-alarm.ts";
import { RowSeals } from "../storage/row-seals.ts";
import { checkSeals, NOTHING_TO_CHECK, type SealPosition, type SealStep } from "../storage/seal-check.ts";
import { StoredObject } from "../storage/stored-object.ts";
import { type Migration, readVersions, Tables } from "../storage/tables.ts";
import type { SystemEnv } from "./env.ts";
import { mustLoadInstallation, takesPages } from "./installation.ts";

/**
 * The keys for the seals of an object's rows. Every method that reads or writes such rows opens them first: what it does
 * after that needs no await, and is one transaction.
 */
export class ObjectKeys {
  readonly #env: SystemEnv;
  #keys: RowKeys | null = null;

  constructor(env: SystemEnv) {
    this.#env = env;
  }

  /**
   * Gets the keys, of which every isolate has a copy.
   *
   * @throws while the service is sealed: no request gets to an object then.
   */
  async open(): Promise<void> {
    this.#keys = (await mustLoadInstallation(this.#env)).keys.rows;
  }

  /**
   * The same for what an object does by itself.
   *
   * @throws while the installation is being restored, too: what it would notify may not be there yet.
   */
  async openForAlarm(): Promise<void> {
    const { restoring, keys } = await mustLoadInstallation(this.#env);
    if (restoring !== null) throw new Error("the installation is being restored");
    this.#keys = keys.rows;
  }

  /** The keys as they were last opened. */
  get(): RowKeys {
    if (!this.#keys) throw new Error("a row was read before the keys for its seal");
    return this.#keys;
  }
}

/**
 * A Durable Object of Grove: tables that the first write makes, rows with seals, and one alarm. What is for its class alone are
 * fields, which no other object can call.
 */
export abstract class GroveObject<Env extends SystemEnv> extends StoredObject<Env> {
  protected readonly tables: Tables;
  /** Every method that reads or writes rows with seals opens them first. */
  protected readonly keys: ObjectKeys;
  protected readonly seals: RowSeals;
  protected readonly alarms: ObjectAlarm;
  protected override readonly takesPages = () => takesPages(this.env);
  /** Deletes everything that the object has stored, and its alarm. */
  protected readonly wipe = (): Promise<void> => {
    this.tables.forget();
    this.alarms.forget();
    const deleted = this.ctx.storage.deleteAll();
    this.origin.keep();
    return deleted;
  };

  constructor(ctx: DurableObjectState, env: Env, migrations: readonly Migration[]) {
    const versions = readVersions(ctx.storage.sql);
    super(ctx, env, versions);
    this.tables = new Tables(ctx.storage.sql, migrations, undefined, versions);
    this.keys = new ObjectKeys(env);
    this.seals = new RowSeals(this.origin.id, () => this.keys.get());
    this.alarms = new ObjectAlarm(ctx.storage, () => this.keys.openForAlarm());
  }

  /** Checks the seals of some rows, for tidy. */
  async checkSeals(from: SealPosition | null): Promise<SealStep> {
    if (!this.tables.exist) return NOTHING_TO_CHECK;
    await this.keys.open();
    return checkSeals(this.seals.tables, from);
  }

  /** Does what is due. */
  override alarm(): Promise<void> {
    return this.alarms.run();
  }
}
