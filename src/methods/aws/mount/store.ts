import type { Refusal } from "../../../auth/refused/refusals.ts";
import { currentTime } from "../../../base/clock.ts";
import { DENIED, err, ok, type Result, refuse } from "../../../base/result.ts";
import type { SealedKind } from "../../../crypto/row-keys.ts";
import type { Verdict } from "../../../policy/acl.ts";
import type { RowSeals } from "../../../storage/row-seals.ts";
import { SealedTable } from "../../../storage/sealed-table.ts";
import { SealedValues, Setting, type ValueRow } from "../../../storage/sealed-values.ts";
import type { Migration, Sql, Tables } from "../../../storage/tables.ts";
import { type ClientConfig, DEFAULT_CLIENT, type StsRole } from "../clients/config.ts";
import type { RegisteredCertificate } from "../documents/trusted.ts";
import { DEFAULT_IDENTITY, type IdentityConfig } from "../rules/identity.ts";
import type { CloudRole } from "../rules/role.ts";
import type { DenyEntry } from "../rules/role-tag.ts";
import type { TidyList, TidySettings } from "../rules/tidy-settings.ts";
import { sealedTexts } from "../secrets.ts";
import { forgetCopies, type LoginSettings } from "./copies.ts";
import { ExpiringValues, TIDY_JOBS_TABLE } from "./list-tidy.ts";

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

/** What the caller's policies grant on the path of what is written. */
export type WriteGrants = Pick<Verdict, "create" | "update">;

/** A write needs the right to create what is not there (null), and the right to change what is. */
export function mayWrite(before: unknown, grants: WriteGrants): boolean {
  return before === null ? grants.create : grants.update;
}

/** A table of records that operators configure. */
interface RecordTable {
  readonly table: string;
  readonly kind: SealedKind;
  /** Most records of one mount. */
  readonly max: number;
  /** What they are called in messages. */
  readonly plural: string;
}

/** Records that operators configure, by name. */
class Records<T> extends SealedValues<T> {
  readonly #max: number;
  readonly #plural: string;
  readonly #changed: () => void;

  /** @param changed called after each change, in its transaction. */
  constructor(sql: Sql, seals: RowSeals, { table, kind, max, plural }: RecordTable, changed: () => void) {
    super(sql, seals, table, kind, sealedTexts);
    this.#max = max;
    this.#plural = plural;
    this.#changed = changed;
  }

  /**
   * Makes or changes a record.
   *
   * @param change gives the record after the write, or why it is refused; `before` is null for a new one.
   * @returns "permission_denied", or a 400 when the write is refused or the table is full.
   */
  change(name: string, grants: WriteGrants, change: (before: T | null) => Result<T>): Result<null> {
    const before = this.read(name);
    if (!mayWrite(before, grants)) return err(DENIED);
    const after = change(before);
    return after.ok ? this.replace(name, before, after.value) : after;
  }

  /** Writes a record in the place of `before`, null for a new one; a 400 when the table is full. */
  replace(name: string, before: T | null, after: T): Result<null> {
    if (!before && this.count() >= this.#max) return refuse(`there are ${this.#max} ${this.#plural} already`);
    this.write(name, after);
    this.#changed();
    return ok(null);
  }

  override delete(name: string): void {
    super.delete(name);
    this.#changed();
  }
}

/** The rows of a table of settings. */
function settingRows(sql: Sql, seals: RowSeals, table: string, kind: SealedKind): SealedTable<ValueRow> {
  const values = ({ value }: Record<string, SqlStorageValue>) => sealedTexts(String(value));
  return new SealedTable(sql, seals, { table, kind, key: ["name"], sealed: ["value"], values });
}

/** Parts of the configuration that a login lacks. */
export interface LoginAsk {
  readonly settings: boolean;
  /** In lower case; null for none. */
  readonly roleName: string | null;
  /** Whose role to assume; null for none. */
  readonly accountId: string | null;
}

/** The parts that were asked for; null for the others, and for one that is not there. */
export interface LoginParts {
  /** The state of the configuration that they are of: a number that every change makes greater. */
  readonly state: number;
  readonly settings: LoginSettings | null;
  readonly role: CloudRole | null;
  /** The role to assume for the account. */
  readonly stsRole: StsRole | null;
}

/** What the id of an image begins with: a vm login without a role means the role that is named like its image. */
const IMAGE_PREFIX = "ami-";

/** The parts of the configuration that a login or a renewal asks for. */
export function readLoginParts(store: CloudStore, { settings, roleName, accountId }: LoginAsk): LoginParts {
  // No login uses settings that were tampered with: defaults in their place would let in whom those keep out.
  const tampered = store.client.isTampered || store.identity.isTampered;
  return {
    state: store.state,
    settings: settings ? loginSettings(store, tampered) : null,
    role: roleName === null || tampered ? null : store.roles.read(roleName),
    stsRole: accountId === null ? null : store.stsRoles.read(accountId),
  };
}

function loginSettings(store: CloudStore, tampered: boolean): LoginSettings {
  const { client, identity, certificates } = store;
  return {
    client: client.read() ?? DEFAULT_CLIENT,
    identity: identity.read() ?? DEFAULT_IDENTITY,
    certificates: certificates.values(),
    hasRoles: hasRoleFrom(store, ""),
    hasImageRoles: hasRoleFrom(store, IMAGE_PREFIX),
    tampered,
  };
}

function hasRoleFrom({ roles }: CloudStore, prefix: string): boolean {
  return roles.names(prefix, 1).some((name) => name.startsWith(prefix));
}
