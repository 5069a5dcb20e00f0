import { MountObject } from "../../../auth/mount-object.ts";
import type { Refusal } from "../../../auth/refused/refusals.ts";
import { logInfo } from "../../../base/log.ts";
import { DENIED, err, ok, type Result, refuse } from "../../../base/result.ts";
import type { Env } from "../../../env.ts";
import type { Setting } from "../../../storage/sealed-values.ts";
import { rolesGiving } from "../../roles.ts";
import {
  type ClientChange,
  type ClientConfig,
  changeClient,
  changeStsRole,
  type StsRole,
  type StsRoleFields,
} from "../clients/config.ts";
import type { CertificateType, RegisteredCertificate } from "../documents/trusted.ts";
import { DEFAULT_IDENTITY, type IdentityConfig } from "../rules/identity.ts";
import { type CloudRole, MAX_ROLE_LENGTH } from "../rules/role.ts";
import { changeRole, type RoleChange, type RoleChangeInput } from "../rules/role-change.ts";
import { type DenyEntry, isStillGenuine } from "../rules/role-tag.ts";
import { DEFAULT_TIDY, type TidyList, type TidySettings } from "../rules/tidy-settings.ts";
import { ListTidy } from "./list-tidy.ts";
import {
  CLOUD_AUTH_MIGRATIONS,
  CloudStore,
  type LoginAsk,
  type LoginParts,
  mayWrite,
  readLoginParts,
  type WriteGrants,
} from "./store.ts";

/** Tables whose entries are listed and deleted by name. */
export type CloudTable = "certificates" | "stsRoles" | "roles" | "denyList";

/**
 * One mounted cloud method: its configuration, roles and deny list. It has no keys of the cloud and calls no cloud; the Worker
 * seals, hashes and verifies. Every method that changes something is one transaction.
 */
export class CloudAuth extends MountObject<Env> {
  readonly #store: CloudStore;
  readonly #tidy: ListTidy<DenyEntry>;
  protected readonly refused: Setting<readonly Refusal[]>;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env, CLOUD_AUTH_MIGRATIONS);
    this.#store = new CloudStore(this.tables, this.seals);
    const { roles, denyList, tidy } = this.#store;
    this.#tidy = new ListTidy(this.alarms, {
      list: "deny",
      tables: this.tables,
      rows: denyList,
      stays: (tag, entry) => isStillGenuine(tag, entry, (name) => roles.read(name)),
      pace: () => tidy.deny.read() ?? DEFAULT_TIDY,
      settings: async () => tidy.deny.read() ?? DEFAULT_TIDY,
      report: (done) => logInfo(env, { type: "tidy", ...done }),
    });
    this.refused = this.#store.refused;
    if (this.tables.exist) ctx.blockConcurrencyWhile(() => this.alarms.restore());
  }

  /** At most `limit` names of a table after `after`, in order. */
  names(table: CloudTable, after: string, limit: number): string[] {
    return this.#store[table].names(after, limit);
  }

  /** Deletes an entry of a table. Tokens of a deleted role live on and can not be renewed. Safe to repeat. */
  async remove(table: CloudTable, name: string): Promise<void> {
    await this.keys.open();
    this.#store[table].delete(name);
  }

  /** The configuration of calls to the cloud, with its secret sealed. null when none was written. */
  async readClient(): Promise<ClientConfig | null> {
    await this.keys.open();
    return this.#store.client.read();
  }

  /** Changes the client configuration. Returns it as it is now, or "permission_denied". */
  async writeClient(change: ClientChange, grants: WriteGrants): Promise<Result<ClientConfig>> {
    await this.keys.open();
    const before = this.#store.client.read();
    if (!mayWrite(before, grants)) return err(DENIED);
    const after = changeClient(before, change);
    if (after.ok) this.#writeClient(after.value);
    return after;
  }

  /** Replaces the access key `from` by another. False when it is not the configured one any more. */
  async replaceAccessKey(
    from: string,
    change: Required<Pick<ClientConfig, "accessKey" | "sealedSecretKey">>,
  ): Promise<boolean> {
    await this.keys.open();
    const before = this.#store.client.read();
    if (before?.accessKey !== from) return false;
    this.#writeClient({ ...before, ...change });
    return true;
  }

  /** Deletes the configuration of calls to the cloud. Safe to repeat. */
  async deleteClient(): Promise<void> {
    await this.keys.open();
    this.#store.client.delete();
    this.#store.changed();
  }

  /** Which properties name logins and are shown of them; the defaults when nothing was written. */
  async readIdentity(): Promise<IdentityConfig> {
    await this.keys.open();
    return this.#store.identity.read() ?? DEFAULT_IDENTITY;
  }

  /** Changes the identity configuration. Fields that are absent keep their values. */
  async writeIdentity(change: Partial<IdentityConfig>): Promise<void> {
    await this.keys.open();
    const { identity } = this.#store;
    identity.write({ ...(identity.read() ?? DEFAULT_IDENTITY), ...change });
    this.#store.changed();
  }

  /** The settings of the clean-up of one list. null when none were written, and the defaults apply. */
  async readTidy(list: TidyList): Promise<TidySettings | null> {
    await this.keys.open();
    return this.#store.tidy[list].read();
  }

  /** Changes the tidy settings of a list; or "permission_denied". */
  async writeTidy(list: TidyList, change: Partial<TidySettings>, grants: WriteGrants): Promise<Result<null>> {
    await this.keys.open();
    const before = this.#store.tidy[list].read();
    if (!mayWrite(before, grants)) return err(DENIED);
    this.#store.tidy[list].write({ ...(before ?? DEFAULT_TIDY), ...change });
    await this.alarms.set();
    return ok(null);
  }

  /** Deletes the settings of the clean-up of one list. Safe to repeat. */
  async deleteTidy(list: TidyList): Promise<void> {
    await this.keys.open();
    this.#store.tidy[list].delete();
    await this.alarms.set();
  }

  /** The registered certificate with this name, or null. */
  async readCertificate(name: string): Promise<RegisteredCertificate | null> {
    await this.keys.open();
    return this.#store.certificates.read(name);
  }

  /** Registers a certificate. `type` null keeps that of the one it replaces. */
  async writeCertificate(
    name: string,
    pem: string,
    type: CertificateType | null,
    grants: WriteGrants,
  ): Promise<Result<null>> {
    await this.keys.open();
    return this.#store.certificates.change(name, grants, (before) =>
      ok({ type: type ?? before?.type ?? "pkcs7", pem }),
    );
  }

  /** The role to assume for calls to this account, or null. */
  async readStsRole(accountId: string): Promise<StsRole | null> {
    await this.keys.open();
    return this.#store.stsRoles.read(accountId);
  }

  /** Associates a role with an account. Fields that are undefined keep what is there. */
  async writeStsRole(accountId: string, fields: StsRoleFields, grants: WriteGrants): Promise<Result<null>> {
    await this.keys.open();
    return this.#store.stsRoles.change(accountId, grants, (before) => changeStsRole(before, fields));
  }

  /** The role of this name (lower case), or null. */
  async readRole(name: string): Promise<CloudRole | null> {
    await this.keys.open();
    return this.#store.roles.read(name);
  }

  /** Names of the roles that give tokens this policy. */
  async rolesGiving(policy: string): Promise<string[]> {
    await this.keys.open();
    return rolesGiving(this.#store.roles, policy);
  }

  /**
   * Makes or changes the role `name` (lower case), unless principals have to be looked up first: then the Worker does that
   * and calls again, and the rules judge again what is stored by then.
   */
  async writeRole(
    name: string,
    write: Omit<RoleChangeInput, "before">,
    grants: WriteGrants,
  ): Promise<Result<RoleChange>> {
    await this.keys.open();
    const before = this.#store.roles.read(name);
    if (!mayWrite(before, grants)) return err(DENIED);
    const change = changeRole({ ...write, before });
    if (!change.ok || change.value.kind === "unresolved") return change;
    const { role } = change.value;
    if (JSON.stringify(role).length > MAX_ROLE_LENGTH) return refuse("the role is too large");
    const written = this.#store.roles.replace(name, before, role);
    return written.ok ? change : written;
  }

  /** The parts of the configuration that a login or a renewal needs. */
  async readForLogin(ask: LoginAsk): Promise<LoginParts> {
    await this.keys.open();
    return readLoginParts(this.#store, ask);
  }

  /** The number of the state that the configuration and the roles are in; 0 before the first change. */
  async configurationState(): Promise<number> {
    await this.keys.open();
    return this.#store.state;
  }

  /** The entry of a role tag (its canonical value) on the deny list, or null. Times in ms. */
  async readDenied(tag: string): Promise<DenyEntry | null> {
    await this.keys.open();
    return this.#store.denyList.read(tag);
  }

  /** Whether a role tag (its canonical value) is denied, also by an entry that was tampered with. */
  isDenied(tag: string): boolean {
    return this.#store.denyList.has(tag);
  }

  /** Denies a role tag (its canonical value) of the role with this id. Denying it again only moves its end. Times in ms. */
  async deny(tag: string, roleId: string, expiresAt: number, now: number): Promise<void> {
    await this.keys.open();
    const before = this.#store.denyList.read(tag);
    this.#store.denyList.write(tag, { createdAt: before?.createdAt ?? now, expiresAt, roleId });
    await this.alarms.set();
  }

  /** Begins to remove the ended entries of the deny list. False when that is under way already. `now` in ms. */
  async startTidy(safetyBuffer: number, now: number): Promise<boolean> {
    await this.keys.open();
    return this.#tidy.start(safetyBuffer, now);
  }

  #writeClient(client: ClientConfig): void {
    this.#store.client.write(client);
    this.#store.changed();
  }
}
