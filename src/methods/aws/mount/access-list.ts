import { DurableObject } from "cloudflare:workers";
import { currentTime } from "../../../base/clock.ts";
import { DENIED, type Failure } from "../../../base/errors.ts";
import { within } from "../../../base/location.ts";
import { logInfo } from "../../../base/log.ts";
import { err, ok, type Result } from "../../../base/result.ts";
import type { Env } from "../../../env.ts";
import { RowSeals } from "../../../storage/row-seals.ts";
import { checkSeals, NOTHING_TO_CHECK, type SealPosition, type SealStep } from "../../../storage/seal-check.ts";
import { ObjectKeys } from "../../../system/object-keys.ts";
import { decideLogin, type InstanceLogin } from "../rules/access.ts";
import type { AccessEntry } from "../rules/access-entry.ts";
import { DEFAULT_TIDY, type TidySettings } from "../rules/tidy-settings.ts";
import { AccessListStore, type ShardPlace } from "./access-list-store.ts";
import { ObjectAlarm } from "./object-alarm.ts";
import { periodicRunAt, TidyJobs } from "./tidy-jobs.ts";

/** Pause after an alarm that failed. */
const RETRY_MS = 30_000;
/** While there are ended entries, the mount is asked every hour whether they may go by now: its settings can change. */
const LOOK_HOURLY: TidySettings = { safetyBuffer: 0, disablePeriodicTidy: false };

/** A login that was entered in the access list, and what stood there before. */
export interface EnteredLogin {
  readonly entry: AccessEntry;
  readonly previous: AccessEntry | null;
}

/**
 * A shard of the access list of a cloud mount: what is remembered of the logins of its instances, whose nonces it decides about
 * in one transaction.
 */
export class CloudAccessList extends DurableObject<Env> {
  readonly #store: AccessListStore;
  readonly #jobs: TidyJobs<AccessEntry>;
  readonly #keys: ObjectKeys;
  readonly #alarm: ObjectAlarm;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#keys = new ObjectKeys(env);
    this.#store = new AccessListStore(ctx.storage.sql, new RowSeals(ctx.id.toString(), () => this.#keys.get()));
    this.#jobs = new TidyJobs(this.#store, "access", this.#store.entries, () => false);
    this.#alarm = new ObjectAlarm(ctx.storage);
    if (this.#store.exists) {
      ctx.blockConcurrencyWhile(async () => {
        await this.#keys.open();
        await this.#alarm.load();
        this.#arm();
      });
    }
  }

  /**
   * Decides the login of an instance and enters it, in one transaction: of two first logins at once one is the first.
   *
   * @returns the entry, whose `nonceHash` is null when the nonce counts for nothing; or why the login is refused (400).
   */
  async enterLogin(
    place: ShardPlace,
    instanceId: string,
    login: InstanceLogin,
    now: number,
  ): Promise<Result<EnteredLogin, Failure>> {
    await this.#keys.open();
    const decided = this.#decide(instanceId, login, now);
    if (!decided.ok) return decided;
    this.#write(place, instanceId, decided.value.entry);
    // For everything else the alarm is set already, and to read when it is due costs as much as the entry.
    this.#alarm.arm(periodicRunAt(decided.value.entry.expiresAt, LOOK_HOURLY, currentTime() + 1));
    return decided;
  }

  /** What `enterLogin` would answer; null for an entry. Enters nothing. */
  async judgeLogin(instanceId: string, login: InstanceLogin, now: number): Promise<Result<null, Failure>> {
    await this.#keys.open();
    const decided = this.#decide(instanceId, login, now);
    return decided.ok ? ok(null) : decided;
  }

  /**
   * Undoes `enterLogin` when no token came of it: a client that never learned its new nonce would be locked out. Does
   * nothing when another login was entered meanwhile.
   */
  async undoLogin(instanceId: string, { entry, previous }: EnteredLogin): Promise<void> {
    await this.#keys.open();
    const current = this.#store.entries.read(instanceId);
    if (JSON.stringify(current) !== JSON.stringify(entry)) return;
    if (previous) this.#store.entries.write(instanceId, previous);
    else this.#store.entries.delete(instanceId);
  }

  /**
   * Keeps the entry of an instance whose token is renewed at least until `expiresAt` (ms).
   *
   * @returns the entry, or null when an operator has deleted it: then the token may not be renewed.
   */
  async extend(instanceId: string, expiresAt: number, now: number): Promise<AccessEntry | null> {
    await this.#keys.open();
    const entry = this.#store.entries.read(instanceId);
    if (!entry) return null;
    const extended = { ...entry, updatedAt: now, expiresAt: Math.max(entry.expiresAt, expiresAt) };
    this.#store.entries.write(instanceId, extended);
    return extended;
  }

  /** The entry of an instance, or null. Times in ms. */
  async read(instanceId: string): Promise<AccessEntry | null> {
    await this.#keys.open();
    return this.#store.entries.read(instanceId);
  }

  /** At most `limit` ids of instances after `after`, in order. */
  list(after: string, limit: number): string[] {
    return this.#store.entries.names(after, limit);
  }

  /** Forgets an instance: its tokens are not renewed, and its next login is a first one. Safe to repeat. */
  async delete(instanceId: string): Promise<void> {
    await this.#keys.open();
    this.#store.entries.delete(instanceId);
  }

  /** Begins to remove ended entries. False when that is under way already. `now` in ms. */
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
    const place = this.#store.place();
    if (!place) return;
    try {
      await this.#keys.open();
      const mount = within(this.env, this.env.CLOUD_AUTH).getByName(place.mount);
      const settings = (await mount.readTidy("access")) ?? DEFAULT_TIDY;
      const now = currentTime();
      this.#jobs.startPeriodic(settings, now);
      const report = this.#jobs.run(now);
      if (report) logInfo(this.env, { type: "tidy", ...report, shard: place.shard });
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
    return checkSeals([this.#store.entries.sealed], from);
  }

  #write(place: ShardPlace, instanceId: string, entry: AccessEntry): void {
    this.#store.entries.write(instanceId, entry);
    // The alarm has to know where this shard is.
    if (!this.#store.place()) this.#store.notePlace(place);
  }

  #decide(instanceId: string, login: InstanceLogin, now: number): Result<EnteredLogin, Failure> {
    const previous = this.#store.entries.read(instanceId);
    // To forget an instance whose entry was tampered with would let anybody be its first.
    if (!previous && this.#store.entries.has(instanceId)) return err(DENIED);
    const decided = decideLogin(previous, login, now);
    return decided.ok ? ok({ entry: decided.value, previous }) : decided;
  }

  /** Sets the alarm for what is due next, if it is not set for an earlier time. */
  #arm(): void {
    const now = currentTime();
    const due = this.#jobs.isUnderWay() ? now : this.#jobs.nextRunAt(LOOK_HOURLY, now + 1);
    if (due !== null) this.#alarm.arm(due);
  }
}
