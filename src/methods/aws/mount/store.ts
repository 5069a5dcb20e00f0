import type { RowSeals } from "../../../storage/row-seals.ts";
import { type Migration, Schema } from "../../../storage/schema.ts";
import type { SealedTable } from "../../../storage/sealed-table.ts";
import type { ClientConfig } from "../clients/config.ts";
import type { StoredStsRole } from "../clients/sts-role.ts";
import type { RegisteredCertificate } from "../documents/registered.ts";
import type { DenyEntry } from "../rules/deny-entry.ts";
import type { IdentityConfig } from "../rules/identity.ts";
import type { CloudRole } from "../rules/role.ts";
import type { TidyList, TidySettings } from "../rules/tidy-settings.ts";
import { ExpiringRows } from "./expiring-rows.ts";
import { Rows, type RowsHost, type ValueRow } from "./rows.ts";
import { TIDY_JOBS_TABLE } from "./tidy-jobs.ts";

const VALUES = "(name TEXT PRIMARY KEY, value TEXT NOT NULL, seal BLOB) WITHOUT ROWID";

export const CLOUD_AUTH_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "one mount of the cloud method; values are JSON",
    sql: `
      CREATE TABLE settings ${VALUES};
      CREATE TABLE certificates ${VALUES};
      CREATE TABLE sts_roles ${VALUES};
      CREATE TABLE roles ${VALUES};
      CREATE TABLE deny_list (name TEXT PRIMARY KEY, value TEXT NOT NULL, expires_at INTEGER NOT NULL, seal BLOB) WITHOUT ROWID;
      CREATE INDEX deny_list_by_end ON deny_list (expires_at);
      ${TIDY_JOBS_TABLE}
    `,
  },
];

/** Everything that is stored of one mount. */
export class CloudStore implements RowsHost {
  readonly sql: SqlStorage;
  readonly seals: RowSeals;
  readonly client: Setting<ClientConfig>;
  readonly identity: Setting<IdentityConfig>;
  /** The number of the state of what isolates keep copies of. */
  readonly state: Setting<number>;
  readonly tidy: Readonly<Record<TidyList, Setting<TidySettings>>>;
  readonly certificates: Rows<RegisteredCertificate>;
  /** By account id: the ARN of the role to assume. */
  readonly stsRoles: Rows<StoredStsRole>;
  /** By name in lower case. */
  readonly roles: Rows<CloudRole>;
  /** By the value of the tag in its one spelling. */
  readonly denyList: ExpiringRows<DenyEntry>;
  readonly #schema: Schema;
  readonly #settings: Rows<unknown>;

  constructor(sql: SqlStorage, seals: RowSeals) {
    this.sql = sql;
    this.seals = seals;
    this.#schema = new Schema(sql, CLOUD_AUTH_MIGRATIONS);
    const settings = new Rows<unknown>(this, "settings", "cloud setting");
    this.#settings = settings;
    this.client = new Setting(settings, "client");
    this.identity = new Setting(settings, "identity");
    this.state = new Setting(settings, "state");
    this.tidy = { access: new Setting(settings, "tidy access"), deny: new Setting(settings, "tidy deny") };
    this.certificates = new Rows(this, "certificates", "cloud certificate");
    this.stsRoles = new Rows(this, "sts_roles", "cloud sts role");
    this.roles = new Rows(this, "roles", "cloud role");
    this.denyList = new ExpiringRows(this, "deny_list", "deny list entry");
  }

  get exists(): boolean {
    return this.#schema.exists;
  }

  /** The tables as seals see them. */
  get sealedTables(): readonly SealedTable<ValueRow>[] {
    const { certificates, stsRoles, roles, denyList } = this;
    return [this.#settings, certificates, stsRoles, roles, denyList].map(({ sealed }) => sealed);
  }

  /** Makes the tables unless they are there. */
  create(): void {
    this.#schema.create();
  }

  /** Call when the database was emptied. */
  forget(): void {
    this.#schema.forget();
  }
}

/** One value of the settings. */
class Setting<T> {
  readonly #rows: Rows<unknown>;
  readonly #name: string;

  constructor(rows: Rows<unknown>, name: string) {
    this.#rows = rows;
    this.#name = name;
  }

  read(): T | null {
    return this.#rows.read(this.#name) as T | null;
  }

  /** True when there is something, also what was tampered with and counts as absent. */
  get isWritten(): boolean {
    return this.#rows.has(this.#name);
  }

  write(value: T): void {
    this.#rows.write(this.#name, value);
  }

  /** Safe to repeat. */
  delete(): void {
    this.#rows.delete(this.#name);
  }
}
