import { ObjectAlarm } from "../storage/object-alarm.ts";
import { RowSeals } from "../storage/row-seals.ts";
import { type Migration, readVersions } from "../storage/schema.ts";
import { checkSeals, NOTHING_TO_CHECK, type SealPosition, type SealStep } from "../storage/seal-check.ts";
import { StoredObject } from "../storage/stored-object.ts";
import { Tables } from "../storage/tables.ts";
import type { SystemEnv } from "./env.ts";
import { takesPages } from "./installation.ts";
import { ObjectKeys } from "./object-keys.ts";

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
