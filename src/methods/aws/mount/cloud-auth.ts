import { DurableObject } from "cloudflare:workers";
import { currentTime } from "../../../base/clock.ts";
import { DENIED, type Failure } from "../../../base/errors.ts";
import { logInfo } from "../../../base/log.ts";
import { err, ok, type Result } from "../../../base/result.ts";
import type { Env } from "../../../env.ts";
import { RowSeals } from "../../../storage/row-seals.ts";
import { checkSeals, NOTHING_TO_CHECK, type SealPosition, type SealStep } from "../../../storage/seal-check.ts";
import { ObjectKeys } from "../../../system/object-keys.ts";
import type { ClientChange, ClientConfig } from "../clients/config.ts";
import type { StsRole, StsRoleFields } from "../clients/sts-role.ts";
import type { CertificateType, RegisteredCertificate } from "../documents/registered.ts";
import { type DenyEntry, isStillGenuine } from "../rules/deny-entry.ts";
import type { IdentityChange, IdentityConfig } from "../rules/identity.ts";
import type { CloudRole } from "../rules/role.ts";
import type { RoleChange, RoleChangeInput } from "../rules/role-change.ts";
import { DEFAULT_TIDY, type TidyChange, type TidyList, type TidySettings } from "../rules/tidy-settings.ts";
import { Configuration } from "./configuration.ts";
import { type LoginAsk, type LoginParts, readLoginParts } from "./login-parts.ts";
import { ObjectAlarm } from "./object-alarm.ts";
import { RoleTable } from "./role-table.ts";
import { ConfigurationState } from "./state.ts";
import { CloudStore } from "./store.ts";
import { TidyJobs } from "./tidy-jobs.ts";
import { mayWrite, type WriteGrants } from "./write-grants.ts";

/** Pause after an alarm that failed. */
const RETRY_MS = 30_000;

/**
 * One mounted cloud method: its configuration, roles and lists. It holds no keys and calls no cloud; the Worker seals,
 * hashes and verifies. Every method that changes something is one transaction.
 */
export class CloudAuth extends DurableObject<Env> {
  readonly #store: CloudStore;
  readonly #state: ConfigurationState;
  readonly #configuration: Configuration;
  readonly #roles: RoleTable;
  readonly #jobs: TidyJobs<DenyEntry>;
  readonly #keys: ObjectKeys;
  readonly #alarm: ObjectAlarm;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#keys = new ObjectKeys(env);
    this.#store = new CloudStore(ctx.storage.sql, new RowSeals(ctx.id.toString(), () => this.#keys.get()));
    this.#state = new ConfigurationState(this.#store);
    this.#configuration = new Configuration(this.#store, this.#state);
    this.#roles = new RoleTable(this.#store.roles, this.#state);
    this.#alarm = new ObjectAlarm(ctx.storage);
    const { roles, denyList } = this.#store;
    this.#jobs = new TidyJobs(this.#store, "deny", denyList, (tag, entry) =>
      isStillGenuine(tag, entry, (name) => roles.read(name)),
    );
    if (this.#store.exists) {
      ctx.blockConcurrencyWhile(async () => {
        await this.#keys.open();
        await this.#alarm.load();
        this.#arm();
      });
    }
  }

  /** The configuration of calls to the cloud, with its secret sealed. null when none was written. */
  async readClient(): Promise<ClientConfig | null> {
    await this.#keys.open();
    return this.#store.client.read();
  }

  /** Changes the client configuration. Returns it as it is now, or "permission_denied". */
  async writeClient(change: ClientChange, grants: WriteGrants): Promise<Result<ClientConfig, Failure>> {
    await this.#keys.open();
    return this.#configuration.writeClient(change, grants);
  }

  /** Replaces the access key `from` by another. False when it is not the configured one any more. */
  async replaceAccessKey(
    from: string,
    change: Required<Pick<ClientConfig, "accessKey" | "sealedSecretKey">>,
  ): Promise<boolean> {
    await this.#keys.open();
    return this.#configuration.replaceAccessKey(from, change);
  }

  /** Deletes the configuration of calls to the cloud. Safe to repeat. */
  async deleteClient(): Promise<void> {
    await this.#keys.open();
    this.#configuration.deleteClient();
  }

  /** What names the aliases and metadata of logins; the defaults when nothing was written. */
  async readIdentity(): Promise<IdentityConfig> {
    await this.#keys.open();
    return this.#configuration.identity();
  }

  /** Changes what names the aliases and metadata of logins. Fields that are absent keep their values. */
  async writeIdentity(change: IdentityChange): Promise<void> {
    await this.#keys.open();
    this.#configuration.writeIdentity(change);
  }

  /** The settings of the clean-up of one list. null when none were written, and the defaults apply. */
  async readTidy(list: TidyList): Promise<TidySettings | null> {
    await this.#keys.open();
    return this.#store.tidy[list].read();
  }

  /** Changes the tidy settings of a list; or "permission_denied". */
  async writeTidy(list: TidyList, change: TidyChange, grants: WriteGrants): Promise<Result<null, Failure>> {
    await this.#keys.open();
    const before = this.#store.tidy[list].read();
    if (!mayWrite(before, grants)) return err(DENIED);
    this.#store.tidy[list].write({ ...(before ?? DEFAULT_TIDY), ...change });
    this.#arm();
    return ok(null);
  }

  /** Deletes the settings of the clean-up of one list. Safe to repeat. */
  async deleteTidy(list: TidyList): Promise<void> {
    await this.#keys.open();
    this.#store.tidy[list].delete();
    this.#arm();
  }

  /** The registered certificate with this name, or null. */
  async readCertificate(name: string): Promise<RegisteredCertificate | null> {
    await this.#keys.open();
    return this.#store.certificates.read(name);
  }

  /** At most `limit` names of registered certificates after `after`, in order. */
  listCertificates(after: string, limit: number): string[] {
    return this.#store.certificates.names(after, limit);
  }

  /** Registers a certificate. `type` null keeps that of the one it replaces. */
  async writeCertificate(
    name: string,
    pem: string,
    type: CertificateType | null,
    grants: WriteGrants,
  ): Promise<Result<null, Failure>> {
    await this.#keys.open();
    return this.#configuration.writeCertificate(name, pem, type, grants);
  }

  /** Deletes a registered certificate. Safe to repeat. */
  async deleteCertificate(name: string): Promise<void> {
    await this.#keys.open();
    this.#configuration.deleteCertificate(name);
  }

  /** The role to assume for calls to this account, or null. */
  async readStsRole(accountId: string): Promise<StsRole | null> {
    await this.#keys.open();
    return this.#configuration.stsRole(accountId);
  }

  /** At most `limit` ids of accounts with a role to assume after `after`, in order. */
  listStsRoles(after: string, limit: number): string[] {
    return this.#store.stsRoles.names(after, limit);
  }

  /** Associates a role with an account. Fields that are undefined keep what is there. */
  async writeStsRole(accountId: string, fields: StsRoleFields, grants: WriteGrants): Promise<Result<null, Failure>> {
    await this.#keys.open();
    return this.#configuration.writeStsRole(accountId, fields, grants);
  }

  /** Deletes the role to assume for an account. Safe to repeat. */
  async deleteStsRole(accountId: string): Promise<void> {
    await this.#keys.open();
    this.#configuration.deleteStsRole(accountId);
  }

  /** The role of this name (lower case), or null. */
  async readRole(name: string): Promise<CloudRole | null> {
    await this.#keys.open();
    return this.#store.roles.read(name);
  }

  /** What a login or a renewal goes by. */
  async readForLogin(ask: LoginAsk): Promise<LoginParts> {
    await this.#keys.open();
    return readLoginParts(this.#store, this.#state.number, ask);
  }

  /** The number of the state that the configuration and the roles are in; 0 before the first change. */
  async configurationState(): Promise<number> {
    await this.#keys.open();
    return this.#state.number;
  }

  /** At most `limit` names of roles after `after`, in order. */
  listRoles(after: string, limit: number): string[] {
    return this.#store.roles.names(after, limit);
  }

  /**
   * Makes or changes the role `name` (lower case), unless principals have to be looked up first: then the Worker does that
   * and calls again, and the rules judge anew what is stored by then.
   */
  async writeRole(
    name: string,
    write: Omit<RoleChangeInput, "before">,
    grants: WriteGrants,
  ): Promise<Result<RoleChange, Failure>> {
    await this.#keys.open();
    return this.#roles.write(name, write, grants);
  }

  /** Deletes a role. Its tokens live on and can not be renewed. Safe to repeat. */
  async deleteRole(name: string): Promise<void> {
    await this.#keys.open();
    this.#roles.delete(name);
  }

  /** The entry of a role tag (its canonical value) on the deny list, or null. Times in ms. */
  async readDenied(tag: string): Promise<DenyEntry | null> {
    await this.#keys.open();
    return this.#store.denyList.read(tag);
  }

  /** Whether a role tag (its canonical value) is denied, also by an entry that was tampered with. */
  isDenied(tag: string): boolean {
    return this.#store.denyList.has(tag);
  }

  /** At most `limit` role tags on the deny list after `after`, in order. */
  listDenied(after: string, limit: number): string[] {
    return this.#store.denyList.names(after, limit);
  }

  /**
   * Denies a role tag, given in its one spelling, of the role with this id. Denying it again only moves its end. Times in ms.
   */
  async deny(tag: string, roleId: string, expiresAt: number, now: number): Promise<void> {
    await this.#keys.open();
    const before = this.#store.denyList.read(tag);
    this.#store.denyList.write(tag, { createdAt: before?.createdAt ?? now, expiresAt, roleId });
    this.#arm();
  }

  /** Takes a role tag (its canonical value) off the deny list. Safe to repeat. */
  deleteDenied(tag: string): void {
    this.#store.denyList.delete(tag);
  }

  /** Begins to remove the ended entries of the deny list. False when that is under way already. `now` in ms. */
  async startTidy(safetyBuffer: number, now: number): Promise<boolean> {
    await this.#keys.open();
    const started = this.#jobs.start(safetyBuffer, now);
    this.#arm();
    return started;
  }

  /** Deletes everything: the mount is gone. */
  async erase(): Promise<void> {
    await this.#alarm.disarm();
    await this.ctx.storage.deleteAll();
    this.#store.forget();
  }

  override async alarm(): Promise<void> {
    this.#alarm.wentOff();
    if (!this.#store.exists) return;
    try {
      await this.#keys.open();
      const now = currentTime();
      this.#jobs.startPeriodic(this.#tidySettings(), now);
      const report = this.#jobs.run(now);
      if (report) logInfo(this.env, { type: "tidy", ...report });
    } catch (error) {
      // The platform gives up after a few retries of its own.
      console.error(JSON.stringify({ type: "tidy", error: String(error) }));
      return this.#alarm.arm(currentTime() + RETRY_MS);
    }
    this.#arm();
  }

  /** Checks the seals of some rows, for tidy. */
  async checkSeals(from: SealPosition | null): Promise<SealStep> {
    if (!this.#store.exists) return NOTHING_TO_CHECK;
    await this.#keys.open();
    return checkSeals(this.#store.sealedTables, from);
  }

  #tidySettings(): TidySettings {
    return this.#store.tidy.deny.read() ?? DEFAULT_TIDY;
  }

  /** Sets the alarm for what is due next, if it is not set for an earlier time. */
  #arm(): void {
    const now = currentTime();
    const due = this.#jobs.nextRunAt(this.#tidySettings(), now);
    if (due !== null) this.#alarm.arm(due);
  }
}
