import { MountObject } from "../../../auth/mount-object.ts";
import { currentTime, type Ms, type Seconds } from "../../../base/clock.ts";
import { logInfo } from "../../../base/log.ts";
import type { CallAttempt } from "../../../base/lost-call-retry.ts";
import { DENIED, err, NOT_FOUND, ok, type Result, refuse } from "../../../base/result.ts";
import type { Env } from "../../../env.ts";
import { mayWrite, type WriteGrants } from "../../../policy/write-grants.ts";
import { Setting, type TableShape, valuesTable } from "../../../storage/sealed-table.ts";
import type { Migration } from "../../../storage/tables.ts";
import { rolesGiving } from "../../role-name.ts";
import {
  type ClientChange,
  type ClientConfig,
  changeClient,
  changeStsRole,
  DEFAULT_CLIENT,
  type StsRole,
  type StsRoleFields,
} from "../clients/client-config.ts";
import { cloudSecretsIn } from "../cloud-secrets.ts";
import type { CertificateType, RegisteredCertificate } from "../documents/certificate.ts";
import { DEFAULT_IDENTITY, type IdentityConfig } from "../rules/alias-and-metadata.ts";
import {
  type CloudRole,
  type CloudRoleChange,
  changeCloudRole,
  MAX_ROLE_LENGTH,
  type RoleChangeInput,
} from "../rules/role.ts";
import { type DenyEntry, isStillGenuine } from "../rules/role-tag.ts";
import { DEFAULT_TIDY, ExpiringList, TIDY_JOBS_TABLE, type TidyList, type TidySettings } from "./expiring-list.ts";
import { forgetCopies, type LoginAsk, type LoginParts } from "./login-settings.ts";
import { RoleRecords } from "./role-records.ts";

export const CLOUD_AUTH_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "one mount of the cloud method; values are JSON",
    sql: `
      ${valuesTable("settings")}
      ${valuesTable("certificates")}
      ${valuesTable("sts_roles")}
      ${valuesTable("roles")}
      CREATE TABLE deny_list (name TEXT PRIMARY KEY, value TEXT NOT NULL, expires_at INTEGER NOT NULL, seal BLOB) WITHOUT ROWID;
      CREATE INDEX deny_list_by_end ON deny_list (expires_at);
      ${TIDY_JOBS_TABLE}
    `,
  },
];

const SETTINGS: TableShape = {
  table: "settings",
  kind: "cloud setting",
  key: ["name"],
  sealed: ["value"],
  values: ({ value }) => cloudSecretsIn(String(value)),
};
/** A login may try all certificates. */
const CERTIFICATES = { table: "certificates", kind: "cloud certificate", max: 256, plural: "certificates" } as const;
const STS_ROLES = { table: "sts_roles", kind: "cloud sts role", max: 10_000, plural: "sts roles" } as const;
const ROLES = { table: "roles", kind: "cloud role", max: 10_000, plural: "roles" } as const;

/** Prefix of the ids of images: a vm login without a role uses the role with the name of its image. */
const IMAGE_PREFIX = "ami-";

type ChangedRole = Extract<CloudRoleChange, { kind: "changed" }>;
/** The answer to the write of a role. */
type CloudRoleAnswer = Omit<ChangedRole, "role"> | Exclude<CloudRoleChange, ChangedRole>;

/** Roles are by name in lower case, the roles to assume by account id, denied tags by canonical value. */
interface CloudLists {
  readonly certificates: RoleRecords<RegisteredCertificate>;
  readonly stsRoles: RoleRecords<StsRole>;
  readonly roles: RoleRecords<CloudRole>;
  readonly denyList: ExpiringList<DenyEntry>;
}

/**
 * The configuration, roles and deny list of a mount of the cloud method. The object has no key for the secrets that it
 * stores, and calls no cloud: the Worker seals, hashes and verifies. Every change is one transaction.
 */
export class CloudAuth extends MountObject<Env> {
  readonly #client: Setting<ClientConfig>;
  readonly #identity: Setting<IdentityConfig>;
  /** The version number of the configuration and the roles (see `#noteChange`). */
  readonly #state: Setting<number>;
  readonly #tidySettings: Readonly<Record<TidyList, Setting<TidySettings>>>;
  readonly #lists: CloudLists;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env, CLOUD_AUTH_MIGRATIONS, SETTINGS);
    const { tables, seals, settings } = this;
    this.#client = new Setting(settings, "client");
    this.#identity = new Setting(settings, "identity");
    this.#state = new Setting(settings, "state");
    const tidy = new Setting<TidySettings>(settings, "tidy deny");
    this.#tidySettings = { access: new Setting(settings, "tidy access"), deny: tidy };
    const changed = () => this.#noteChange();
    const roles = new RoleRecords<CloudRole>(tables, seals, ROLES, changed);
    this.#lists = {
      certificates: new RoleRecords(tables, seals, CERTIFICATES, changed),
      stsRoles: new RoleRecords(tables, seals, STS_ROLES, changed),
      roles,
      denyList: new ExpiringList(this.alarms, tables, seals, {
        list: "deny",
        table: "deny_list",
        kind: "deny list entry",
        stays: (tag, entry) => isStillGenuine(tag, entry, (name) => roles.read(name)),
        pace: () => tidy.read() ?? DEFAULT_TIDY,
        settings: async () => tidy.read() ?? DEFAULT_TIDY,
        report: (done) => logInfo(env, { type: "tidy", ...done }),
      }),
    };
    if (tables.exist) ctx.blockConcurrencyWhile(() => this.alarms.restore());
  }

  /** At most `limit` names of a table after `after`, in order. */
  names(table: keyof CloudLists, after: string, limit: number): string[] {
    return this.#lists[table].names(after, limit);
  }

  /** Deletes an entry of a table. Tokens of a deleted role stay valid and can't be renewed. Safe to repeat. */
  async remove(table: keyof CloudLists, name: string, attempt: CallAttempt = {}): Promise<void> {
    await this.keys.open();
    this.deleteOnce(attempt, () => this.#lists[table].delete(name));
  }

  /** The client configuration with its sealed secret; null when none was written. */
  async readClient(): Promise<ClientConfig | null> {
    await this.keys.open();
    return this.#client.read();
  }

  /**
   * Changes the client configuration; or returns "permission_denied". A Worker of 1.0.0-rc.1 reads the answer, which is
   * the configuration; null when it was deleted since another attempt wrote it.
   */
  async writeClient(
    change: ClientChange,
    grants: WriteGrants,
    attempt: CallAttempt = {},
  ): Promise<Result<ClientConfig | null>> {
    await this.keys.open();
    const written = this.carriedOut.once(attempt, () => {
      const before = this.#client.read();
      if (!mayWrite(before, grants)) return err(DENIED);
      const after = changeClient(before, change);
      if (!after.ok) return after;
      this.#writeClient(after.value);
      return ok(null);
    });
    return written.ok ? ok(this.#client.read()) : written;
  }

  /** Replaces the access key `from`. False when another one is configured by now. */
  async replaceAccessKey(
    from: string,
    change: Pick<ClientConfig, "accessKey" | "sealedSecretKey">,
    attempt: CallAttempt = {},
  ): Promise<boolean> {
    await this.keys.open();
    const replaced = this.carriedOut.once(attempt, () => {
      const before = this.#client.read();
      return before?.accessKey === from ? ok(this.#writeClient({ ...before, ...change })) : NOT_FOUND;
    });
    return replaced.ok;
  }

  /** Deletes the client configuration. */
  async deleteClient(attempt: CallAttempt = {}): Promise<void> {
    await this.keys.open();
    this.deleteOnce(attempt, () => {
      this.#client.delete();
      this.#noteChange();
    });
  }

  /** The identity configuration; the defaults when none was written. */
  async readIdentity(): Promise<IdentityConfig> {
    await this.keys.open();
    return this.#identity.read() ?? DEFAULT_IDENTITY;
  }

  /** Changes the identity configuration. Absent fields keep their values. */
  async writeIdentity(change: Partial<IdentityConfig>, attempt: CallAttempt = {}): Promise<void> {
    await this.keys.open();
    this.carriedOut.once(attempt, () => {
      this.#identity.write({ ...(this.#identity.read() ?? DEFAULT_IDENTITY), ...change });
      return ok(this.#noteChange());
    });
  }

  /** The tidy settings of a list; null when none were written and the defaults apply. */
  async readTidy(list: TidyList): Promise<TidySettings | null> {
    await this.keys.open();
    return this.#tidySettings[list].read();
  }

  /** Changes the tidy settings of a list; or returns "permission_denied". */
  async writeTidy(
    list: TidyList,
    change: Partial<TidySettings>,
    grants: WriteGrants,
    attempt: CallAttempt = {},
  ): Promise<Result<null>> {
    await this.keys.open();
    const written = this.carriedOut.once(attempt, () => {
      const before = this.#tidySettings[list].read();
      if (!mayWrite(before, grants)) return err(DENIED);
      this.#tidySettings[list].write({ ...(before ?? DEFAULT_TIDY), ...change });
      return ok(null);
    });
    await this.alarms.set();
    return written;
  }

  /** Deletes the tidy settings of a list. */
  async deleteTidy(list: TidyList, attempt: CallAttempt = {}): Promise<void> {
    await this.keys.open();
    this.deleteOnce(attempt, () => this.#tidySettings[list].delete());
    await this.alarms.set();
  }

  /** The registered certificate with this name, or null. */
  async readCertificate(name: string): Promise<RegisteredCertificate | null> {
    await this.keys.open();
    return this.#lists.certificates.read(name);
  }

  /** Registers a certificate. A null `type` keeps the type of the certificate that is replaced. */
  async writeCertificate(
    name: string,
    pem: string,
    type: CertificateType | null,
    grants: WriteGrants,
    attempt: CallAttempt = {},
  ): Promise<Result<null>> {
    await this.keys.open();
    const change = (before: RegisteredCertificate | null) => ok({ type: type ?? before?.type ?? "pkcs7", pem });
    return this.carriedOut.once(attempt, () => this.#lists.certificates.change(name, grants, change));
  }

  /** The role to assume for calls to this account, or null. */
  async readStsRole(accountId: string): Promise<StsRole | null> {
    await this.keys.open();
    return this.#lists.stsRoles.read(accountId);
  }

  /** Sets the role to assume for an account. Undefined fields keep their values. */
  async writeStsRole(
    accountId: string,
    fields: StsRoleFields,
    grants: WriteGrants,
    attempt: CallAttempt = {},
  ): Promise<Result<null>> {
    await this.keys.open();
    const change = (before: StsRole | null) => changeStsRole(before, fields);
    return this.carriedOut.once(attempt, () => this.#lists.stsRoles.change(accountId, grants, change));
  }

  /** The role with this name in lower case, or null. */
  async readRole(name: string): Promise<CloudRole | null> {
    await this.keys.open();
    return this.#lists.roles.read(name);
  }

  /** Names of the roles that give tokens this policy. */
  async rolesGiving(policy: string): Promise<string[]> {
    await this.keys.open();
    return rolesGiving(this.#lists.roles, policy);
  }

  /**
   * Creates or changes the role `name` (lower case). When principals must be looked up first, nothing is written: the
   * Worker looks them up and calls again, and the rules are applied to the role that is stored then.
   */
  async writeRole(
    name: string,
    write: Omit<RoleChangeInput, "before">,
    grants: WriteGrants,
    attempt: CallAttempt = {},
  ): Promise<Result<CloudRoleAnswer>> {
    await this.keys.open();
    const { roles } = this.#lists;
    return this.carriedOut.once(attempt, (): Result<CloudRoleAnswer> => {
      const before = roles.read(name);
      if (!mayWrite(before, grants)) return err(DENIED);
      const change = changeCloudRole({ ...write, before });
      if (!change.ok) return change;
      if (change.value.kind === "unresolved") return ok(change.value);
      const { role, ...changed } = change.value;
      if (JSON.stringify(role).length > MAX_ROLE_LENGTH) return refuse("the role is too large");
      const written = roles.replace(name, before, role);
      return written.ok ? ok(changed) : written;
    });
  }

  /** The parts of the configuration that a login or a renewal asks for. */
  async readForLogin({ settings, roleName, accountId }: LoginAsk): Promise<LoginParts> {
    await this.keys.open();
    const { certificates, stsRoles, roles } = this.#lists;
    // Defaults in the place of settings that were tampered with could admit clients that these settings refuse.
    const tampered = this.#client.isTampered || this.#identity.isTampered;
    const hasRoleFrom = (prefix: string) => roles.names(prefix, 1).some((name) => name.startsWith(prefix));
    return {
      state: this.#state.read() ?? 0,
      settings: settings
        ? {
            client: this.#client.read() ?? DEFAULT_CLIENT,
            identity: this.#identity.read() ?? DEFAULT_IDENTITY,
            certificates: certificates.values(),
            hasRoles: hasRoleFrom(""),
            hasImageRoles: hasRoleFrom(IMAGE_PREFIX),
            tampered,
          }
        : null,
      role: roleName === null || tampered ? null : roles.read(roleName),
      stsRole: accountId === null ? null : stsRoles.read(accountId),
    };
  }

  /** The version number of the configuration and the roles; 0 before the first change. */
  async configurationState(): Promise<number> {
    await this.keys.open();
    return this.#state.read() ?? 0;
  }

  /** The deny list entry of a role tag (its canonical value), or null. */
  async readDenied(tag: string): Promise<DenyEntry | null> {
    await this.keys.open();
    return this.#lists.denyList.read(tag);
  }

  /** True when a role tag (its canonical value) is denied, also by an entry that was tampered with. */
  isDenied(tag: string): boolean {
    return this.#lists.denyList.has(tag);
  }

  /** Denies a role tag (its canonical value) of the role with this id. Repeating it only moves the end. */
  async deny(tag: string, roleId: string, expiresAt: Ms, now: Ms, attempt: CallAttempt = {}): Promise<void> {
    await this.keys.open();
    const { denyList } = this.#lists;
    this.carriedOut.once(attempt, () =>
      ok(denyList.write(tag, { createdAt: denyList.read(tag)?.createdAt ?? now, expiresAt, roleId })),
    );
    await this.alarms.set();
  }

  /** Starts to remove the ended entries of the deny list. False when that has not finished yet. */
  async startTidy(safetyBuffer: Seconds, now: Ms): Promise<boolean> {
    await this.keys.open();
    return this.#lists.denyList.startTidy(safetyBuffer, now);
  }

  #writeClient(client: ClientConfig): void {
    this.#client.write(client);
    this.#noteChange();
  }

  /** Increases the version number in the transaction of a change. Isolates detect outdated copies by it. */
  #noteChange(): void {
    if (!this.tables.exist) return;
    // The time makes the number greater also after a restore of an earlier state.
    this.#state.write(Math.max((this.#state.read() ?? 0) + 1, currentTime()));
    // Where one process serves everything, this isolate also answers requests.
    forgetCopies();
  }
}
