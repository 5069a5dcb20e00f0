import { type Migration, Schema } from "../../storage/schema.ts";
import type { AccessEntry } from "./access-list/entry.ts";
import type { RegisteredCertificate } from "./certificates/registered.ts";
import type { ClientConfig } from "./config/client.ts";
import type { IdentityConfig } from "./config/identity.ts";
import type { TidyList, TidySettings } from "./config/tidy-settings.ts";
import type { DenyEntry } from "./deny-list/entry.ts";
import { ExpiringRows } from "./expiring-rows.ts";
import type { CloudRole } from "./roles/role.ts";
import { Rows, type RowsHost } from "./rows.ts";

const VALUES = "(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID";
const ENDING_VALUES = "(name TEXT PRIMARY KEY, value TEXT NOT NULL, expires_at INTEGER NOT NULL) WITHOUT ROWID";

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
];

/** Everything that is stored of one mount. */
export class CloudStore implements RowsHost {
  readonly sql: SqlStorage;
  readonly client: Setting<ClientConfig>;
  readonly identity: Setting<IdentityConfig>;
  readonly tidy: Readonly<Record<TidyList, Setting<TidySettings>>>;
  readonly certificates: Rows<RegisteredCertificate>;
  /** By account id: the ARN of the role to assume. */
  readonly stsRoles: Rows<string>;
  /** By name in lower case. */
  readonly roles: Rows<CloudRole>;
  readonly accessList: ExpiringRows<AccessEntry>;
  /** By the value of the tag in its one spelling. */
  readonly denyList: ExpiringRows<DenyEntry>;
  readonly #schema: Schema;

  constructor(sql: SqlStorage) {
    this.sql = sql;
    this.#schema = new Schema(sql, CLOUD_AUTH_MIGRATIONS);
    const settings = new Rows<unknown>(this, "settings");
    this.client = new Setting(settings, "client");
    this.identity = new Setting(settings, "identity");
    this.tidy = { access: new Setting(settings, "tidy access"), deny: new Setting(settings, "tidy deny") };
    this.certificates = new Rows(this, "certificates");
    this.stsRoles = new Rows(this, "sts_roles");
    this.roles = new Rows(this, "roles");
    this.accessList = new ExpiringRows(this, "access_list");
    this.denyList = new ExpiringRows(this, "deny_list");
  }

  get exists(): boolean {
    return this.#schema.exists;
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

  write(value: T): void {
    this.#rows.write(this.#name, value);
  }

  /** Safe to repeat. */
  delete(): void {
    this.#rows.delete(this.#name);
  }
}
