import type { RowSeals } from "../../storage/row-seals.ts";
import { type Migration, Schema } from "../../storage/schema.ts";
import type { SealedTable } from "../../storage/sealed-table.ts";
import type { AccessEntry } from "./access-list/entry.ts";
import type { RegisteredCertificate } from "./certificates/registered.ts";
import type { ClientConfig } from "./config/client.ts";
import type { IdentityConfig } from "./config/identity.ts";
import type { StoredStsRole } from "./config/sts-role.ts";
import type { TidyList, TidySettings } from "./config/tidy-settings.ts";
import type { DenyEntry } from "./deny-list/entry.ts";
import { ExpiringRows } from "./expiring-rows.ts";
import type { CloudRole } from "./roles/role.ts";
import { Rows, type RowsHost, type ValueRow } from "./rows.ts";

const VALUES = "(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID";
const ENDING_VALUES = "(name TEXT PRIMARY KEY, value TEXT NOT NULL, expires_at INTEGER NOT NULL) WITHOUT ROWID";

const SEALED_TABLES = ["settings", "certificates", "sts_roles", "roles", "access_list", "deny_list"];

export const CLOUD_AUTH_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "one mount of the cloud method; values are JSON",
    sql: `
      CREATE TABLE settings ${VALUES};
      CREATE TABLE certificates ${VALUES};
      CREATE TABLE sts_roles ${VALUES};
      CREATE TABLE roles ${VALUES};
      CREATE TABLE access_list ${ENDING_VALUES};
      CREATE INDEX access_list_by_end ON access_list (expires_at);
      CREATE TABLE deny_list ${ENDING_VALUES};
      CREATE INDEX deny_list_by_end ON deny_list (expires_at);
      CREATE TABLE tidy_jobs (list TEXT PRIMARY KEY, cutoff INTEGER NOT NULL, removed INTEGER NOT NULL) WITHOUT ROWID;
    `,
  },
  {
    version: 2,
    description: "seals of everything that logins are decided by",
    sql: SEALED_TABLES.map((table) => `ALTER TABLE ${table} ADD COLUMN seal BLOB;`).join("\n"),
  },
  {
    version: 3,
    description: "the access list is in shards, which take over what is here and remove what has ended",
    sql: "DELETE FROM tidy_jobs WHERE list = 'access';",
  },
];

/** Everything that is stored of one mount. */
export class CloudStore implements RowsHost {
  readonly sql: SqlStorage;
  readonly seals: RowSeals;
  readonly client: Setting<ClientConfig>;
  readonly identity: Setting<IdentityConfig>;
  /** The uuid of the mount, noted when its shards have entries of the access list to take over. */
  readonly mount: Setting<string>;
  /** The number of the state of what isolates keep copies of. */
  readonly state: Setting<number>;
  readonly tidy: Readonly<Record<TidyList, Setting<TidySettings>>>;
  readonly certificates: Rows<RegisteredCertificate>;
  /** By account id: the ARN of the role to assume. */
  readonly stsRoles: Rows<StoredStsRole>;
  /** By name in lower case. */
  readonly roles: Rows<CloudRole>;
  /** What a release of before kept here and the shards of the access list have not taken over yet. */
  readonly oldAccess: ExpiringRows<AccessEntry>;
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
    this.mount = new Setting(settings, "mount");
    this.state = new Setting(settings, "state");
    this.tidy = { access: new Setting(settings, "tidy access"), deny: new Setting(settings, "tidy deny") };
    this.certificates = new Rows(this, "certificates", "cloud certificate");
    this.stsRoles = new Rows(this, "sts_roles", "cloud sts role");
    this.roles = new Rows(this, "roles", "cloud role");
    this.oldAccess = new ExpiringRows(this, "access_list", "access list entry");
    this.denyList = new ExpiringRows(this, "deny_list", "deny list entry");
  }

  get exists(): boolean {
    return this.#schema.exists;
  }

  /** The tables as seals see them. */
  get sealedTables(): readonly SealedTable<ValueRow>[] {
    const { certificates, stsRoles, roles, oldAccess, denyList } = this;
    return [this.#settings, certificates, stsRoles, roles, oldAccess, denyList].map(({ sealed }) => sealed);
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
