import type { Refusal } from "../../../auth/refused/refusals.ts";
import { currentTime } from "../../../base/clock.ts";
import type { RowSeals } from "../../../storage/row-seals.ts";
import type { Migration } from "../../../storage/schema.ts";
import { Setting } from "../../../storage/setting.ts";
import type { Tables } from "../../../storage/tables.ts";
import type { ClientConfig } from "../clients/config.ts";
import type { StsRole } from "../clients/sts-role.ts";
import type { RegisteredCertificate } from "../documents/registered.ts";
import type { DenyEntry } from "../rules/deny-entry.ts";
import type { IdentityConfig } from "../rules/identity.ts";
import type { CloudRole } from "../rules/role.ts";
import type { TidyList, TidySettings } from "../rules/tidy-settings.ts";
import { forgetCopies } from "./copies.ts";
import { ExpiringValues } from "./expiring-values.ts";
import { TIDY_JOBS_TABLE } from "./list-tidy.ts";
import { Records, settingRows } from "./records.ts";

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

/** A login may try all certificates. */
const CERTIFICATES = { table: "certificates", kind: "cloud certificate", max: 256, plural: "certificates" } as const;
const STS_ROLES = { table: "sts_roles", kind: "cloud sts role", max: 10_000, plural: "sts roles" } as const;
const ROLES = { table: "roles", kind: "cloud role", max: 10_000, plural: "roles" } as const;

/** Everything that is stored of one mount. */
export class CloudStore {
  readonly client: Setting<ClientConfig>;
  readonly identity: Setting<IdentityConfig>;
  readonly refused: Setting<readonly Refusal[]>;
  readonly tidy: Readonly<Record<TidyList, Setting<TidySettings>>>;
  readonly certificates: Records<RegisteredCertificate>;
  /** The roles to assume, by account id. */
  readonly stsRoles: Records<StsRole>;
  /** By name in lower case. */
  readonly roles: Records<CloudRole>;
  /** By the canonical value of the tag. */
  readonly denyList: ExpiringValues<DenyEntry>;
  readonly #tables: Tables;
  readonly #state: Setting<number>;

  constructor(tables: Tables, seals: RowSeals) {
    this.#tables = tables;
    const settings = settingRows(tables, seals, "settings", "cloud setting");
    const changed = () => this.changed();
    this.client = new Setting(settings, "client");
    this.identity = new Setting(settings, "identity");
    this.#state = new Setting(settings, "state");
    this.refused = new Setting(settings, "refused logins");
    this.tidy = { access: new Setting(settings, "tidy access"), deny: new Setting(settings, "tidy deny") };
    this.certificates = new Records(tables, seals, CERTIFICATES, changed);
    this.stsRoles = new Records(tables, seals, STS_ROLES, changed);
    this.roles = new Records(tables, seals, ROLES, changed);
    this.denyList = new ExpiringValues(tables, seals, "deny_list", "deny list entry");
  }

  /**
   * The number of the state that the configuration and the roles are in, which every change makes greater; 0 before the first
   * change. Isolates keep copies of these by it.
   */
  get state(): number {
    return this.#state.read() ?? 0;
  }

  /** Notes a change of the configuration or of a role, in the transaction that makes it. */
  changed(): void {
    if (!this.#tables.exist) return;
    // The time makes it greater also after a restore to an earlier state.
    this.#state.write(Math.max(this.state + 1, currentTime()));
    // Where one process serves, this isolate also answers requests.
    forgetCopies();
  }
}
