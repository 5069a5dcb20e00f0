import { DurableObject } from "cloudflare:workers";
import { currentTime } from "../../base/clock.ts";
import { DENIED, type Failure, invalid } from "../../base/errors.ts";
import { logInfo } from "../../base/log.ts";
import { err, ok, type Result } from "../../base/result.ts";
import type { Env } from "../../env.ts";
import type { Verdict } from "../../policy/acl.ts";
import { RowSeals } from "../../storage/row-seals.ts";
import { checkSeals, NOTHING_TO_CHECK, type SealPosition, type SealStep } from "../../storage/seal-check.ts";
import { ObjectKeys } from "../../system/object-keys.ts";
import type { OldEntry } from "./access-list/entry.ts";
import { OldAccessList } from "./access-list/old-list.ts";
import { accessShardsOf } from "./access-list/shards.ts";
import type { ShardPlace } from "./access-list/store.ts";
import type { CertificateType, RegisteredCertificate } from "./certificates/registered.ts";
import { type ClientChange, type ClientConfig, changeClient, DEFAULT_CLIENT } from "./config/client.ts";
import { forgetCopies, type LoginSettings } from "./config/copies.ts";
import { DEFAULT_IDENTITY, type IdentityChange, type IdentityConfig } from "./config/identity.ts";
import { type StsRole, type StsRoleFields, storedStsRole, stsRoleOf } from "./config/sts-role.ts";
import { DEFAULT_TIDY, type TidyChange, type TidyList, type TidySettings } from "./config/tidy-settings.ts";
import { type DenyEntry, isStillGenuine } from "./deny-list/entry.ts";
import { changeRole, type RoleChange, type RoleChangeInput } from "./roles/change.ts";
import { MAX_ROLE_LENGTH, MAX_ROLES } from "./roles/limits.ts";
import type { CloudRole } from "./roles/role.ts";
import { CloudStore } from "./store.ts";
import { TidyJobs } from "./tidy/jobs.ts";

/** Certificates of one mount: a login may try all of them. */
const MAX_CERTIFICATES = 256;
const MAX_STS_ROLES = 10_000;
/** What the id of an image begins with: a vm login without a role means the role that is named like its image. */
const IMAGE_PREFIX = "ami-";
/** Pause after an alarm that failed. */
const RETRY_MS = 30_000;

/** What the caller's policies grant on the path of what is written. */
export type WriteGrants = Pick<Verdict, "create" | "update">;

/** Parts of the configuration that a login lacks. */
export interface LoginAsk {
  readonly settings: boolean;
  /** In lower case; null for none. */
  readonly roleName: string | null;
  /** Whose role to assume; null for none. */
  readonly accountId: string | null;
}

/** The parts that were asked for, and null for the others. */
export interface LoginParts {
  /** The state of the configuration that they are of: a number that every change makes greater. */
  readonly state: number;
  readonly settings: LoginSettings | null;
  readonly role: CloudRole | null;
  /** ARN of the role to assume for the account. */
  readonly stsRole: StsRole | null;
}

/**
 * One mounted cloud method: its configuration, roles and lists. It holds no keys and calls no cloud; the Worker seals,
 * hashes and verifies. Every method that changes something is one transaction.
 */
export class CloudAuth extends DurableObject<Env> {
  readonly #store: CloudStore;
  readonly #old: OldAccessList;
  readonly #jobs: TidyJobs<DenyEntry>;
  readonly #keys: ObjectKeys;
  /** When the alarm is set for (ms), or null. */
  #alarmAt: number | null = null;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#keys = new ObjectKeys(env);
    this.#store = new CloudStore(ctx.storage.sql, new RowSeals(ctx.id.toString(), () => this.#keys.get()));
    this.#old = new OldAccessList(this.#store);
    const { roles, denyList } = this.#store;
    this.#jobs = new TidyJobs(this.#store, "deny", denyList, (tag, entry) =>
      isStillGenuine(tag, entry, (name) => roles.read(name)),
    );
    if (this.#store.exists) {
      ctx.blockConcurrencyWhile(async () => {
        await this.#keys.open();
        // An alarm can be lost to a restore or to a fault of the platform; the rows say when it is due.
        this.#alarmAt = await ctx.storage.getAlarm();
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
    const before = this.#store.client.read();
    if (!mayWrite(before, grants)) return err(DENIED);
    const after = changeClient(before, change);
    if (!after.ok) return after;
    this.#store.client.write(after.value);
    this.#changed();
    return after;
  }

  /** Replaces the access key `from` by another. False when it is not the configured one any more. */
  async replaceAccessKey(
    from: string,
    change: Required<Pick<ClientConfig, "accessKey" | "sealedSecretKey">>,
  ): Promise<boolean> {
    await this.#keys.open();
    const before = this.#store.client.read();
    if (before?.accessKey !== from) return false;
    this.#store.client.write({ ...before, ...change });
    this.#changed();
    return true;
  }

  /** Deletes the configuration of calls to the cloud. Safe to repeat. */
  async deleteClient(): Promise<void> {
    await this.#keys.open();
    this.#store.client.delete();
    this.#changed();
  }

  /** What names the aliases and metadata of logins; the defaults when nothing was written. */
  async readIdentity(): Promise<IdentityConfig> {
    await this.#keys.open();
    return this.#identity();
  }

  /** Changes what names the aliases and metadata of logins. Fields that are absent keep their values. */
  async writeIdentity(change: IdentityChange): Promise<void> {
    await this.#keys.open();
    this.#store.identity.write({ ...this.#identity(), ...change });
    this.#changed();
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
    const before = this.#store.certificates.read(name);
    if (!mayWrite(before, grants)) return err(DENIED);
    if (!before && this.#store.certificates.count() >= MAX_CERTIFICATES) {
      return full(`there are ${MAX_CERTIFICATES} certificates already`);
    }
    this.#store.certificates.write(name, { type: type ?? before?.type ?? "pkcs7", pem });
    this.#changed();
    return ok(null);
  }

  /** Deletes a registered certificate. Safe to repeat. */
  async deleteCertificate(name: string): Promise<void> {
    await this.#keys.open();
    this.#store.certificates.delete(name);
    this.#changed();
  }

  /** The role to assume for calls to this account, or null. */
  async readStsRole(accountId: string): Promise<StsRole | null> {
    await this.#keys.open();
    return stsRoleOf(this.#store.stsRoles.read(accountId));
  }

  /** At most `limit` ids of accounts with a role to assume after `after`, in order. */
  listStsRoles(after: string, limit: number): string[] {
    return this.#store.stsRoles.names(after, limit);
  }

  /** Associates a role with an account. Fields that are undefined keep what is there. */
  async writeStsRole(accountId: string, fields: StsRoleFields, grants: WriteGrants): Promise<Result<null, Failure>> {
    await this.#keys.open();
    const before = stsRoleOf(this.#store.stsRoles.read(accountId));
    if (!mayWrite(before, grants)) return err(DENIED);
    const arn = fields.arn ?? before?.arn;
    if (arn === undefined) return err(invalid("missing sts role"));
    if (before === null && this.#store.stsRoles.count() >= MAX_STS_ROLES) {
      return full(`there are ${MAX_STS_ROLES} sts roles already`);
    }
    this.#store.stsRoles.write(
      accountId,
      storedStsRole({ arn, externalId: fields.externalId ?? before?.externalId ?? "" }),
    );
    this.#changed();
    return ok(null);
  }

  /** Deletes the role to assume for an account. Safe to repeat. */
  async deleteStsRole(accountId: string): Promise<void> {
    await this.#keys.open();
    this.#store.stsRoles.delete(accountId);
    this.#changed();
  }

  /** The role of this name (lower case), or null. */
  async readRole(name: string): Promise<CloudRole | null> {
    await this.#keys.open();
    return this.#store.roles.read(name);
  }

  /** What a login or a renewal goes by. */
  async readForLogin({ settings, roleName, accountId }: LoginAsk): Promise<LoginParts> {
    await this.#keys.open();
    const all = this.#loginSettings();
    return {
      state: this.#state(),
      settings: settings ? all : null,
      role: roleName === null || all.tampered ? null : this.#store.roles.read(roleName),
      stsRole: accountId === null ? null : stsRoleOf(this.#store.stsRoles.read(accountId)),
    };
  }

  /** The number of the state that the configuration and the roles are in; 0 before the first change. */
  async configurationState(): Promise<number> {
    await this.#keys.open();
    return this.#state();
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
    const before = this.#store.roles.read(name);
    if (!mayWrite(before, grants)) return err(DENIED);
    const change = changeRole({ ...write, before });
    if (!change.ok || change.value.kind === "unresolved") return change;
    if (JSON.stringify(change.value.role).length > MAX_ROLE_LENGTH) return full("the role is too large");
    if (!before && this.#store.roles.count() >= MAX_ROLES) return full(`there are ${MAX_ROLES} roles already`);
    this.#store.roles.write(name, change.value.role);
    this.#changed();
    return change;
  }

  /** Deletes a role. Its tokens live on and can not be renewed. Safe to repeat. */
  async deleteRole(name: string): Promise<void> {
    await this.#keys.open();
    this.#store.roles.delete(name);
    this.#changed();
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

  /**
   * What is still here of the access list of before: the entry of an instance, for its shard, and whether there is any entry. Then
   * the shards are made to take over all of them.
   */
  async oldAccess(place: ShardPlace, instanceId: string): Promise<{ left: boolean; entry: OldEntry | null }> {
    await this.#keys.open();
    const left = this.#old.isLeft();
    if (left) this.#beginTakeOver(place.mount);
    return { left, entry: this.#old.read(instanceId) };
  }

  /** Such entries of one shard, from some that come after `after`, and where to go on; null at the end. */
  async oldAccessOf(place: ShardPlace, after: string): Promise<{ entries: OldEntry[]; next: string | null }> {
    await this.#keys.open();
    return this.#old.ofShard(place.shard, after);
  }

  /** At most `limit` ids of instances with such an entry after `after`, in order. */
  listOldAccess(after: string, limit: number): string[] {
    return this.#store.oldAccess.names(after, limit);
  }

  /** Deletes such an entry. Safe to repeat. */
  deleteOldAccess(instanceId: string): void {
    this.#store.oldAccess.delete(instanceId);
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
    await this.ctx.storage.deleteAlarm();
    await this.ctx.storage.deleteAll();
    this.#store.forget();
    this.#alarmAt = null;
  }

  override async alarm(): Promise<void> {
    this.#alarmAt = null;
    if (!this.#store.exists) return;
    try {
      await this.#keys.open();
      await this.#takeOver();
      const now = currentTime();
      this.#jobs.startPeriodic(this.#tidySettings(), now);
      const report = this.#jobs.run(now);
      if (report) logInfo(this.env, { type: "tidy", ...report });
    } catch (error) {
      // The platform gives up after a few retries of its own.
      console.error(JSON.stringify({ type: "tidy", error: String(error) }));
      this.#alarmAt = currentTime() + RETRY_MS;
      await this.ctx.storage.setAlarm(this.#alarmAt);
      return;
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

  #beginTakeOver(mount: string): void {
    if (this.#store.mount.read() !== mount) this.#store.mount.write(mount);
    this.#armAt(currentTime());
  }

  /** Lets the shards take over what is left of the access list here, and drops it when all have. */
  async #takeOver(): Promise<void> {
    const mount = this.#old.isLeft() ? this.#store.mount.read() : null;
    if (mount === null) return;
    let done = true;
    for (const { list, place } of accessShardsOf(this.env, { uuid: mount })) {
      if (!(await list.takeOver(place))) done = false;
    }
    if (done) this.#old.drop();
  }

  #identity(): IdentityConfig {
    return this.#store.identity.read() ?? DEFAULT_IDENTITY;
  }

  /** Nobody logs in by settings that were tampered with: defaults in their place would let in whom those keep out. */
  #loginSettings(): LoginSettings {
    const { client, identity, certificates } = this.#store;
    return {
      client: client.read() ?? DEFAULT_CLIENT,
      identity: this.#identity(),
      certificates: certificates.values(),
      hasRoles: this.#hasRoleFrom(""),
      hasImageRoles: this.#hasRoleFrom(IMAGE_PREFIX),
      tampered: isTampered(client) || isTampered(identity),
    };
  }

  #state(): number {
    return this.#store.state.read() ?? 0;
  }

  /** Notes a change of what isolates keep copies of, in the step that makes it. */
  #changed(): void {
    if (!this.#store.exists) return;
    // Greater than before, also after a restore to an earlier state.
    this.#store.state.write(Math.max(this.#state() + 1, currentTime()));
    // Where one process serves, this isolate is the one that answers requests.
    forgetCopies();
  }

  #hasRoleFrom(prefix: string): boolean {
    return this.#store.roles.names(prefix, 1).some((name) => name.startsWith(prefix));
  }

  /** Sets the alarm for what is due next, if it is not set for an earlier time. */
  #arm(): void {
    const now = currentTime();
    const moving = this.#store.exists && this.#old.isLeft() && this.#store.mount.read() !== null;
    const due = moving ? now : this.#jobs.nextRunAt(this.#tidySettings(), now);
    if (due !== null) this.#armAt(due);
  }

  #armAt(due: number): void {
    if (this.#alarmAt !== null && this.#alarmAt <= due) return;
    this.#alarmAt = due;
    this.ctx.storage.setAlarm(due);
  }
}

/** True when there is a value that can't be read. */
function isTampered(setting: { read(): unknown; readonly isWritten: boolean }): boolean {
  return setting.read() === null && setting.isWritten;
}

/** A write needs the right to create what is not there, and the right to change what is. */
function mayWrite(before: unknown, grants: WriteGrants): boolean {
  return before === null ? grants.create : grants.update;
}

function full(message: string): Result<never, Failure> {
  return err(invalid(message));
}
