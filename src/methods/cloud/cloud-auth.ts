import { DurableObject } from "cloudflare:workers";
import { currentTime } from "../../base/clock.ts";
import { DENIED, type Failure, invalid } from "../../base/errors.ts";
import { err, ok, type Result } from "../../base/result.ts";
import type { Env } from "../../env.ts";
import type { Verdict } from "../../policy/acl.ts";
import type { AccessEntry } from "./access-list/entry.ts";
import { decideLogin, type InstanceLogin } from "./access-list/rules.ts";
import type { CertificateType, RegisteredCertificate } from "./certificates/registered.ts";
import { type ClientChange, type ClientConfig, changeClient, DEFAULT_CLIENT } from "./config/client.ts";
import { DEFAULT_IDENTITY, type IdentityChange, type IdentityConfig } from "./config/identity.ts";
import { DEFAULT_TIDY, type TidyChange, type TidyList, type TidySettings } from "./config/tidy-settings.ts";
import type { DenyEntry } from "./deny-list/entry.ts";
import { changeRole, type RoleChange, type RoleChangeInput } from "./roles/change.ts";
import { MAX_ROLE_LENGTH, MAX_ROLES } from "./roles/limits.ts";
import type { AuthType, CloudRole } from "./roles/role.ts";
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

/** What a login needs before its proof is read. */
export interface LoginStart {
  /** The role that the login names; null when there is none of that name, or it names none. */
  readonly role: CloudRole | null;
  /** For a login that names no role: false when no role of the mount could be the one that its proof leads to. */
  readonly hasUnnamed: boolean;
  readonly client: ClientConfig;
  /** Registered certificates; empty for a login that needs none. */
  readonly certificates: readonly RegisteredCertificate[];
}

/** The part of a mount's configuration that decides about one login. */
export interface LoginView {
  readonly role: CloudRole | null;
  /** ARN of the role to assume for the account; null without one. */
  readonly stsRole: string | null;
  readonly client: ClientConfig;
  readonly identity: IdentityConfig;
}

/** A login that was entered in the access list, and what stood there before. */
export interface EnteredLogin {
  readonly entry: AccessEntry;
  readonly previous: AccessEntry | null;
}

/**
 * One mounted cloud method: its configuration, roles and lists. It holds no keys and calls no cloud; the Worker seals,
 * hashes and verifies. Every method that changes something is one transaction.
 */
export class CloudAuth extends DurableObject<Env> {
  readonly #store: CloudStore;
  readonly #jobs: TidyJobs;
  /** When the alarm is set for (ms), or null. */
  #alarmAt: number | null = null;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#store = new CloudStore(ctx.storage.sql);
    this.#jobs = new TidyJobs(this.#store);
    if (this.#store.exists) {
      ctx.blockConcurrencyWhile(async () => {
        // An alarm can be lost to a restore or to a fault of the platform; the rows say when it is due.
        this.#alarmAt = await ctx.storage.getAlarm();
        this.#arm();
      });
    }
  }

  /** The configuration of calls to the cloud, with its secret sealed. null when none was written. */
  readClient(): ClientConfig | null {
    return this.#store.client.read();
  }

  /** Changes the client configuration. Returns it as it is now, or "permission_denied". */
  writeClient(change: ClientChange, grants: WriteGrants): Result<ClientConfig, Failure> {
    const before = this.#store.client.read();
    if (!mayWrite(before, grants)) return err(DENIED);
    const after = changeClient(before, change);
    if (after.ok) this.#store.client.write(after.value);
    return after;
  }

  /** Replaces the access key `from` by another. False when it is not the configured one any more. */
  replaceAccessKey(from: string, change: Required<Pick<ClientConfig, "accessKey" | "sealedSecretKey">>): boolean {
    const before = this.#store.client.read();
    if (before?.accessKey !== from) return false;
    this.#store.client.write({ ...before, ...change });
    return true;
  }

  /** Deletes the configuration of calls to the cloud. Safe to repeat. */
  deleteClient(): void {
    this.#store.client.delete();
  }

  /** What names the aliases and metadata of logins; the defaults when nothing was written. */
  readIdentity(): IdentityConfig {
    return this.#store.identity.read() ?? DEFAULT_IDENTITY;
  }

  /** Changes what names the aliases and metadata of logins. Fields that are absent keep their values. */
  writeIdentity(change: IdentityChange): void {
    this.#store.identity.write({ ...this.readIdentity(), ...change });
  }

  /** The settings of the clean-up of one list. null when none were written, and the defaults apply. */
  readTidy(list: TidyList): TidySettings | null {
    return this.#store.tidy[list].read();
  }

  /** Changes the tidy settings of a list; or "permission_denied". */
  writeTidy(list: TidyList, change: TidyChange, grants: WriteGrants): Result<null, Failure> {
    const before = this.#store.tidy[list].read();
    if (!mayWrite(before, grants)) return err(DENIED);
    this.#store.tidy[list].write({ ...(before ?? DEFAULT_TIDY), ...change });
    this.#arm();
    return ok(null);
  }

  /** Deletes the settings of the clean-up of one list. Safe to repeat. */
  deleteTidy(list: TidyList): void {
    this.#store.tidy[list].delete();
    this.#arm();
  }

  /** The registered certificate with this name, or null. */
  readCertificate(name: string): RegisteredCertificate | null {
    return this.#store.certificates.read(name);
  }

  /** At most `limit` names of registered certificates after `after`, in order. */
  listCertificates(after: string, limit: number): string[] {
    return this.#store.certificates.names(after, limit);
  }

  /**
   * What a login of this kind begins with, in one call: what its role refuses at once, and what its proof is checked with.
   *
   * @param roleName in lower case; "" for a login that names none.
   */
  startLogin(kind: AuthType, roleName: string): LoginStart {
    return {
      role: roleName === "" ? null : this.#store.roles.read(roleName),
      hasUnnamed: roleName === "" && this.#hasRoleFrom(kind === "vm" ? IMAGE_PREFIX : ""),
      client: this.#store.client.read() ?? DEFAULT_CLIENT,
      certificates: kind === "vm" ? this.#store.certificates.values() : [],
    };
  }

  /** Registers a certificate. `type` null keeps that of the one it replaces. */
  writeCertificate(
    name: string,
    pem: string,
    type: CertificateType | null,
    grants: WriteGrants,
  ): Result<null, Failure> {
    const before = this.#store.certificates.read(name);
    if (!mayWrite(before, grants)) return err(DENIED);
    if (!before && this.#store.certificates.count() >= MAX_CERTIFICATES) {
      return full(`there are ${MAX_CERTIFICATES} certificates already`);
    }
    this.#store.certificates.write(name, { type: type ?? before?.type ?? "pkcs7", pem });
    return ok(null);
  }

  /** Deletes a registered certificate. Safe to repeat. */
  deleteCertificate(name: string): void {
    this.#store.certificates.delete(name);
  }

  /** The ARN of the role to assume for calls to this account, or null. */
  readStsRole(accountId: string): string | null {
    return this.#store.stsRoles.read(accountId);
  }

  /** At most `limit` ids of accounts with a role to assume after `after`, in order. */
  listStsRoles(after: string, limit: number): string[] {
    return this.#store.stsRoles.names(after, limit);
  }

  /** Associates a role with an account. `arn` undefined keeps the one that is there. */
  writeStsRole(accountId: string, arn: string | undefined, grants: WriteGrants): Result<null, Failure> {
    const before = this.#store.stsRoles.read(accountId);
    if (!mayWrite(before, grants)) return err(DENIED);
    const after = arn ?? before;
    if (after === null) return err(invalid("missing sts role"));
    if (before === null && this.#store.stsRoles.count() >= MAX_STS_ROLES) {
      return full(`there are ${MAX_STS_ROLES} sts roles already`);
    }
    this.#store.stsRoles.write(accountId, after);
    return ok(null);
  }

  /** Deletes the role to assume for an account. Safe to repeat. */
  deleteStsRole(accountId: string): void {
    this.#store.stsRoles.delete(accountId);
  }

  /** The role of this name (lower case), or null. */
  readRole(name: string): CloudRole | null {
    return this.#store.roles.read(name);
  }

  /** What a login against the role `name` (lower case) of a holder in the account depends on, or its renewal. */
  readLogin(name: string, accountId: string): LoginView {
    return {
      role: this.#store.roles.read(name),
      stsRole: this.#store.stsRoles.read(accountId),
      client: this.#store.client.read() ?? DEFAULT_CLIENT,
      identity: this.readIdentity(),
    };
  }

  /** At most `limit` names of roles after `after`, in order. */
  listRoles(after: string, limit: number): string[] {
    return this.#store.roles.names(after, limit);
  }

  /**
   * Makes or changes the role `name` (lower case), unless principals have to be looked up first: then the Worker does that
   * and calls again, and the rules judge anew what is stored by then.
   */
  writeRole(name: string, write: Omit<RoleChangeInput, "before">, grants: WriteGrants): Result<RoleChange, Failure> {
    const before = this.#store.roles.read(name);
    if (!mayWrite(before, grants)) return err(DENIED);
    const change = changeRole({ ...write, before });
    if (!change.ok || change.value.kind === "unresolved") return change;
    if (JSON.stringify(change.value.role).length > MAX_ROLE_LENGTH) return full("the role is too large");
    if (!before && this.#store.roles.count() >= MAX_ROLES) return full(`there are ${MAX_ROLES} roles already`);
    this.#store.roles.write(name, change.value.role);
    return change;
  }

  /** Deletes a role. Its tokens live on and can not be renewed. Safe to repeat. */
  deleteRole(name: string): void {
    this.#store.roles.delete(name);
  }

  /** The entry of a role tag (its canonical value) on the deny list, or null. Times in ms. */
  readDenied(tag: string): DenyEntry | null {
    return this.#store.denyList.read(tag);
  }

  /** At most `limit` role tags on the deny list after `after`, in order. */
  listDenied(after: string, limit: number): string[] {
    return this.#store.denyList.names(after, limit);
  }

  /**
   * Denies a role tag, given in its one spelling, of the role with this id. Denying it again only moves its end. Times in ms.
   */
  deny(tag: string, roleId: string, expiresAt: number, now: number): void {
    const before = this.#store.denyList.read(tag);
    this.#store.denyList.write(tag, { createdAt: before?.createdAt ?? now, expiresAt, roleId });
    this.#arm();
  }

  /** Takes a role tag (its canonical value) off the deny list. Safe to repeat. */
  deleteDenied(tag: string): void {
    this.#store.denyList.delete(tag);
  }

  /** The entry of an instance on the access list, or null. Times in ms. */
  readAccess(instanceId: string): AccessEntry | null {
    return this.#store.accessList.read(instanceId);
  }

  /** At most `limit` ids of instances on the access list after `after`, in order. */
  listAccess(after: string, limit: number): string[] {
    return this.#store.accessList.names(after, limit);
  }

  /** Takes an instance off the access list: its tokens are not renewed, and its next login is a first one. Safe to repeat. */
  deleteAccess(instanceId: string): void {
    this.#store.accessList.delete(instanceId);
  }

  /**
   * Decides the login of an instance and enters it, in one transaction: of two first logins at once one is the first.
   *
   * @param tag the value of the instance's role tag, verified and in its one spelling; null without one.
   * @returns the entry, whose `nonceHash` is null when the nonce counts for nothing; or why the login is refused (400).
   */
  enterLogin(instanceId: string, login: InstanceLogin, tag: string | null, now: number): Result<EnteredLogin, Failure> {
    const previous = this.#store.accessList.read(instanceId);
    const decided = decideLogin(previous, login, now);
    if (!decided.ok) return decided;
    if (tag !== null && this.#store.denyList.read(tag)) return err(invalid("role tag is deny listed"));
    this.#store.accessList.write(instanceId, decided.value);
    this.#arm();
    return ok({ entry: decided.value, previous });
  }

  /**
   * Undoes `enterLogin` when no token came of it: a client that never learned its new nonce would be locked out. Does
   * nothing when another login was entered meanwhile.
   */
  undoLogin(instanceId: string, { entry, previous }: EnteredLogin): void {
    const current = this.#store.accessList.read(instanceId);
    if (JSON.stringify(current) !== JSON.stringify(entry)) return;
    if (previous) this.#store.accessList.write(instanceId, previous);
    else this.#store.accessList.delete(instanceId);
  }

  /**
   * Keeps the entry of an instance whose token is renewed at least until `expiresAt` (ms).
   *
   * @returns the entry, or null when an operator has deleted it: then the token may not be renewed.
   */
  extendAccess(instanceId: string, expiresAt: number, now: number): AccessEntry | null {
    const entry = this.#store.accessList.read(instanceId);
    if (!entry) return null;
    const extended = { ...entry, updatedAt: now, expiresAt: Math.max(entry.expiresAt, expiresAt) };
    this.#store.accessList.write(instanceId, extended);
    return extended;
  }

  /** Begins to remove the ended entries of a list. False when that is under way already. `now` in ms. */
  startTidy(list: TidyList, safetyBuffer: number, now: number): boolean {
    const started = this.#jobs.start(list, safetyBuffer, now);
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
      const now = currentTime();
      this.#jobs.startPeriodic(now);
      for (const report of this.#jobs.run(now)) console.log(JSON.stringify({ type: "tidy", ...report }));
    } catch (error) {
      // The platform gives up after a few retries of its own.
      console.error(JSON.stringify({ type: "tidy", error: String(error) }));
      this.#alarmAt = currentTime() + RETRY_MS;
      await this.ctx.storage.setAlarm(this.#alarmAt);
      return;
    }
    this.#arm();
  }

  #hasRoleFrom(prefix: string): boolean {
    return this.#store.roles.names(prefix, 1).some((name) => name.startsWith(prefix));
  }

  /** Sets the alarm for what is due next, if it is not set for an earlier time. */
  #arm(): void {
    const due = this.#jobs.nextRunAt(currentTime());
    if (due === null || (this.#alarmAt !== null && this.#alarmAt <= due)) return;
    this.#alarmAt = due;
    this.ctx.storage.setAlarm(due);
  }
}

/** A write needs the right to create what is not there, and the right to change what is. */
function mayWrite(before: unknown, grants: WriteGrants): boolean {
  return before === null ? grants.create : grants.update;
}

function full(message: string): Result<never, Failure> {
  return err(invalid(message));
}
