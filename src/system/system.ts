import type { Ms, Seconds } from "../base/clock.ts";
import type { CallAttempt } from "../base/lost-call-retry.ts";
import { objectNamed } from "../base/object-stub.ts";
import { ok, type Result } from "../base/result.ts";
import { rowKeysOf } from "../crypto/key-ring.ts";
import type { RowKeys } from "../crypto/row-keys.ts";
import type { QuotaConfig, QuotaWrite, RateLimitQuota } from "../quota/quota.ts";
import { CarriedOutCalls } from "../storage/carried-out-calls.ts";
import { RowSeals, reportTampering, type SealPosition, type SealStep } from "../storage/row-seals.ts";
import { StoredObject } from "../storage/stored-object.ts";
import { readVersions } from "../storage/tables.ts";
import type { AuditBacklogNote } from "./audit-backlogs.ts";
import type { AuditObjectNumber } from "./audit-numbers.ts";
import type { KeyUse, RotationChange } from "./automatic-rotation.ts";
import { listOpeningLeadMs } from "./copy-age.ts";
import type { SystemEnv } from "./env.ts";
import type { RootGeneration } from "./installation-store.ts";
import { type Mount, type MountChange, placesOfQuotas } from "./mount.ts";
import type { MoveRequest } from "./mount-store.ts";
import { openKeyRing } from "./open-key-ring.ts";
import { changedParts, type PartVersions } from "./part-versions.ts";
import type { PolicyPatch, PolicyWrite } from "./policies.ts";
import type { PolicyVersion } from "./policy-versions.ts";
import type { Actor, RevocationOrigin } from "./revocation-origin.ts";
import type { StoredPolicy } from "./stored-policy.ts";
import {
  NOT_INITIALIZED,
  readSnapshot,
  type SystemSnapshot,
  type SystemStores,
  systemStores,
  writeNewInstallation,
} from "./system-stores.ts";
import {
  pathScope,
  type StoredWatermark,
  sinceScope,
  type WatermarkRequest,
  type WatermarkScope,
} from "./watermarks.ts";

/** The tokens that are ended when a restore finishes. */
export interface RestoreWatermarks {
  /** Ends everything issued at this time or later, including root tokens and registered credentials; null: nothing. */
  readonly issuedSince: Ms | null;
  /** Tokens issued before this time end, except root tokens; "now": before the end of the restore; null: none. */
  readonly issuedBefore: number | "now" | null;
}

/** The one System object of an installation: its key ring, policies and mounts. */
export class System extends StoredObject<SystemEnv> {
  /** Only an installation that is being restored takes pages of a backup, whose rows replace its own. */
  protected override readonly takesPages = async () => {
    if (this.#stores.restore.running === null) throw new Error("the installation is not being restored");
    const { seals } = await this.#open();
    return { replaces: true, move: seals.moved.bind(seals) };
  };
  /** The wrapped key ring that was opened last, and its keys for the seals of this object's rows. */
  #ring: { readonly sealed: string; readonly rowKeys: RowKeys } | null = null;
  readonly #stores: SystemStores = systemStores(
    this.ctx.storage.sql,
    new RowSeals(this.origin.id, () => {
      if (!this.#ring) throw new Error("a row was read before the keys for its seal");
      return this.#ring.rowKeys;
    }),
    this.env,
  );

  readonly #carriedOut = new CarriedOutCalls(this.ctx.storage.sql, readVersions(this.ctx.storage.sql));

  /** The stores, with the keys of the seals of their rows open. @throws when the key ring does not open. */
  async #open(): Promise<SystemStores> {
    if (!(await this.#openRing())) throw new Error("rows can't be checked: the key ring does not open");
    return this.#stores;
  }

  /**
   * Opens the stored key ring unless it is open. False when there is none, or when the seal key can't open it and none
   * was opened before. If one was, its keys stay in use: a ring that was only wrapped again has the same.
   */
  async #openRing(): Promise<boolean> {
    const sealed = this.sealedKeyRing();
    if (sealed === null) return false;
    if (sealed === this.#ring?.sealed) return true;
    const opened = await openKeyRing(this.env, sealed);
    if (opened.ok) this.#ring = { sealed, rowKeys: rowKeysOf(opened.value.ring) };
    return this.#ring !== null;
  }

  /** Returns the parts of the installation that changed since the versions `known`; null when none did. */
  async snapshot(known: PartVersions | null): Promise<SystemSnapshot | null> {
    if (!this.#ring && this.sealedKeyRing() === null) return NOT_INITIALIZED;
    if (changedParts(known, this.#stores.versions.now).size === 0) return null;
    return readSnapshot(this.#stores, known, await this.#openRing());
  }

  /**
   * Makes a new installation with this wrapped key ring. False, with nothing changed, when there is another key ring,
   * when rows have seals (a key ring was lost), or when the seal key does not open this key ring. Safe to repeat.
   *
   * @param setup nonce of the setup token, which alone is served until `changeSetup` ends the declared start; null:
   *   none. A Worker of the last release gives none.
   */
  initialize(sealedKeyRing: string, setup: string | null = null): Promise<boolean> {
    return this.#setUp(sealedKeyRing, null, setup);
  }

  /** Replaces the nonce `from` (null: any) of the declared start; `to` null ends it. False when no start has it. */
  changeSetup(from: string | null, to: string | null, attempt: CallAttempt = {}): boolean {
    return this.#carriedOut.made(attempt, () => this.#stores.setup.change(from, to));
  }

  /**
   * Begins to restore a new installation from the backup of a run: until `finishRestore` only the restore is served.
   * False as in `initialize`, and when another run is being restored. Safe to repeat with the same run.
   */
  beginRestore(run: string, sealedKeyRing: string): Promise<boolean> {
    return this.#setUp(sealedKeyRing, run, null);
  }

  async #setUp(sealedKeyRing: string, restores: string | null, nonce: string | null): Promise<boolean> {
    const { installation, restore, setup, seals } = this.#stores;
    if (restores !== null && installation.sealedKeyRing !== null && restore.running === restores) return true;
    // No other call has this key ring.
    if (restores === null && installation.sealedKeyRing === sealedKeyRing) return true;
    const opened = await openKeyRing(this.env, sealedKeyRing);
    if (!opened.ok || installation.sealedKeyRing !== null) return false;
    if (seals.hasSeals()) {
      reportTampering({ kind: "installation", object: this.ctx.id.toString(), row: 1 });
      return false;
    }
    this.#ring = { sealed: sealedKeyRing, rowKeys: rowKeysOf(opened.value.ring) };
    this.#stores.schema.create();
    this.ctx.storage.transactionSync(() => {
      this.origin.drop();
      writeNewInstallation(this.#stores, sealedKeyRing);
      if (restores !== null) restore.begin(restores);
      if (nonce !== null) setup.begin(nonce);
    });
    return true;
  }

  /**
   * Ends the restore of a run at `now`. From then on the installation serves requests. Safe to repeat. False, with
   * nothing changed, while rows of this object are missing, when that run is not being restored, or when its restore
   * has ended without the watermarks that are asked for.
   */
  async finishRestore(run: string, { issuedSince, issuedBefore }: RestoreWatermarks, now: Ms): Promise<boolean> {
    if (this.origin.restored?.nextPage !== null) return false;
    const { restore, watermarks, auditNumbers, auditBacklogs } = await this.#open();
    const sinceId = `${run} since`;
    if (restore.hasFinished(run)) {
      // A repeated call must not succeed if it asks for a watermark that the first call did not make: the tokens that
      // it would end are still accepted.
      const wanted = [...(issuedBefore === null ? [] : [run]), ...(issuedSince === null ? [] : [sinceId])];
      return wanted.every((id) => watermarks.numberOf(id) !== null);
    }
    if (restore.running !== run) return false;
    const before = { id: run, scope: pathScope("auth/"), createdBefore: issuedBefore === "now" ? null : issuedBefore };
    if (issuedBefore !== null && !watermarks.add(before, now).ok) return false;
    const since = issuedSince === null ? null : sinceScope(issuedSince);
    if (since && !watermarks.add({ id: sinceId, scope: since, createdBefore: null }, now).ok) return false;
    // They are about the audit store of the installation that was saved.
    auditNumbers.clear();
    auditBacklogs.clear();
    restore.finish(now);
    return true;
  }

  /** The wrapped key ring; null until the service is initialised. */
  sealedKeyRing(): string | null {
    return this.#stores.installation.sealedKeyRing;
  }

  /** Replaces the wrapped key ring `from` by `to`. False, with nothing written, when the stored one is not `from`. */
  replaceKeyRing(from: string, to: string, attempt: CallAttempt = {}): boolean {
    return this.#carriedOut.made(attempt, () => this.#stores.installation.replaceKeyRing(from, to));
  }

  /** Adds an isolate's encryptions to the counts of terms. Returns the inputs of the rotation rule for `newest`. */
  async noteEncryptions(
    used: readonly { readonly term: number; readonly count: number }[],
    newest: number,
  ): Promise<KeyUse> {
    const { rotation } = await this.#open();
    for (const { term, count } of used) rotation.addEncryptions(term, count);
    return rotation.useOf(newest);
  }

  /** Returns the inputs of the rotation rule for `term`. */
  async keyUse(term: number): Promise<KeyUse> {
    return (await this.#open()).rotation.useOf(term);
  }

  /** Counts the changes of the parts of the installation. Lower than before: an earlier state was put in place. */
  revision(): number {
    return this.#stores.versions.revision;
  }

  /** The longest TTL that any batch token can have been issued with, now or earlier. */
  async longestTtl(): Promise<Seconds> {
    return (await this.#open()).mounts.longestTtl();
  }

  /** Changes the settings of automatic key rotation. A 400 for settings out of bounds. */
  async configureRotation(change: RotationChange, attempt: CallAttempt = {}): Promise<Result<null>> {
    const { rotation } = await this.#open();
    return this.#carriedOut.once(attempt, () => rotation.configure(change));
  }

  /** The open attempt to generate a root token, or null. */
  rootGeneration(now: Ms): RootGeneration | null {
    return this.#stores.rootGeneration.read(now);
  }

  /** Opens an attempt to generate a root token. False when one is open. */
  beginRootGeneration(generation: RootGeneration, now: Ms, attempt: CallAttempt = {}): boolean {
    return this.#carriedOut.made(attempt, () => this.#stores.rootGeneration.begin(generation, now));
  }

  /** Counts a try to finish the open attempt, before the try is checked; null when none is open. `left`: after it. */
  tryRootGeneration(now: Ms, attempt: CallAttempt = {}): (RootGeneration & { readonly left: number }) | null {
    const counts = !this.#carriedOut.has(attempt, "use");
    const tried = this.#stores.rootGeneration.try(now, counts);
    if (tried && counts) this.#carriedOut.add(attempt, "use");
    return tried;
  }

  /** Closes the attempt with this nonce before its token is issued. False when it is not open any more. */
  closeRootGeneration(nonce: string, now: Ms, attempt: CallAttempt = {}): boolean {
    return this.#carriedOut.made(attempt, () => this.#stores.rootGeneration.close(nonce, now));
  }

  /** Closes the open attempt, if there is one. */
  cancelRootGeneration(attempt: CallAttempt = {}): void {
    this.#carriedOut.once(attempt, () => ok(this.#stores.rootGeneration.cancel()));
  }

  /** Stores numbers of objects of the audit store. Returns the greatest of each shard. See `AuditNumberStore`. */
  async noteAuditObjects(numbers: readonly AuditObjectNumber[]): Promise<AuditObjectNumber[]> {
    return (await this.#open()).auditNumbers.note(numbers);
  }

  /** Notes that an isolate has answered changes that the audit store has not taken; `most` 0: it has none any more. */
  async noteAuditBacklog(note: AuditBacklogNote): Promise<void> {
    (await this.#open()).auditBacklogs.note(note);
  }

  /** Isolates with such changes, also ended ones. */
  async auditBacklogs(): Promise<AuditBacklogNote[]> {
    return (await this.#open()).auditBacklogs.all();
  }

  /** Checks the seals of some rows, for tidy. */
  async checkSeals(from: SealPosition | null): Promise<SealStep> {
    return (await this.#open()).seals.checkStep(from);
  }

  /** Adds the keyed hash of a custom token id to the list. Isolates look up only ids that the list matches. */
  admitCustomId(hash: Uint8Array): void {
    this.#stores.customIds.add(hash);
  }

  /** The policy `name`, or null. */
  async readPolicy(name: string, now: Ms): Promise<StoredPolicy | null> {
    return (await this.#open()).policies.read(name, now);
  }

  /** The policies among `names` that exist. */
  async readPolicies(names: readonly string[], now: Ms): Promise<StoredPolicy[]> {
    const { policies } = await this.#open();
    return names.flatMap((name) => policies.read(name, now) ?? []);
  }

  /** Names of all stored policies, sorted. */
  listPolicies(now: Ms): string[] {
    return this.#stores.policies.names(now);
  }

  /** The kept versions of the policy `name`, the newest first; none of a policy that does not exist. */
  async policyVersions(name: string, now: Ms): Promise<PolicyVersion[]> {
    return (await this.#open()).policies.versions(name, now);
  }

  /** Creates or replaces the policy `name`, see `PolicyStore.write`. A Worker of the last release sends no `by`. */
  async writePolicy(
    name: string,
    write: PolicyWrite,
    now: Ms,
    by: Actor | null = null,
    attempt: CallAttempt = {},
  ): Promise<Result<null>> {
    const { policies } = await this.#open();
    return this.#carriedOut.once(attempt, () => policies.write(name, write, now, by));
  }

  /** Changes the policy `name`, see `PolicyStore.patch`. `by` as in `writePolicy`. */
  async patchPolicy(
    name: string,
    patch: PolicyPatch,
    now: Ms,
    by: Actor | null = null,
    attempt: CallAttempt = {},
  ): Promise<Result<null>> {
    const { policies } = await this.#open();
    return this.#carriedOut.once(attempt, () => policies.patch(name, patch, now, by));
  }

  /** Deletes the policy `name`, see `PolicyStore.delete`. */
  async deletePolicy(name: string, cas: number | null, now: Ms, attempt: CallAttempt = {}): Promise<Result<null>> {
    const { policies } = await this.#open();
    return this.#carriedOut.once(attempt, () => policies.delete(name, cas, now));
  }

  /** Adds a mount. Of two concurrent calls for the same path only one succeeds. */
  async enableMount(mount: Mount, attempt: CallAttempt = {}): Promise<Result<null>> {
    const { mounts } = await this.#open();
    return this.#carriedOut.once(attempt, () => mounts.enable(mount));
  }

  /** Changes the settings of the mount at `path`. */
  async tuneMount(path: string, change: MountChange, attempt: CallAttempt = {}): Promise<Result<null>> {
    const { mounts } = await this.#open();
    return this.#carriedOut.once(attempt, () => mounts.tune(path, change));
  }

  /** Publishes the number of a newer state of the data that a mount's method stores. Safe to repeat. */
  async announceMethodState(uuid: string, state: number): Promise<void> {
    (await this.#open()).mounts.noteMethodState(uuid, state);
  }

  /** The mount at `path`, in service or not. */
  async findMount(path: string): Promise<Mount | null> {
    return (await this.#open()).mounts.at(path);
  }

  /**
   * Removes the mount with this uuid and ends all tokens that it issued. Its path is free afterwards. Safe to repeat.
   * Returns the number of the watermark, which records `asked`; a refusal when the mount is not at `path`.
   */
  async disableMount(path: string, uuid: string, asked: RevocationOrigin, now: Ms): Promise<Result<number>> {
    return (await this.#open()).mounts.disable(path, uuid, asked, now);
  }

  /** Adds a watermark, see `WatermarkStore.add`. Returns its number. Safe to repeat with the same `request.id`. */
  async addWatermark(request: WatermarkRequest, now: Ms): Promise<Result<number>> {
    return (await this.#open()).watermarks.add(request, now);
  }

  /** All watermarks, the oldest first. */
  async watermarks(): Promise<StoredWatermark[]> {
    return (await this.#open()).watermarks.all();
  }

  /**
   * Records that all stored tokens that the watermarks of `scope` (null: of every scope) up to the number `upTo` end
   * are revoked in their trees. Safe to repeat.
   */
  async watermarksCleaned(scope: WatermarkScope | null, upTo: number, now: Ms): Promise<void> {
    (await this.#open()).watermarks.clean(scope, upTo, now);
  }

  /**
   * Moves the mount at `from` to `to` and ends all tokens that it issued at the old path, which is free afterwards.
   * Safe to repeat with the same `id`. Returns the number of the watermark; a refusal when the mount is not at `from`,
   * or no mount may be at `to`.
   */
  async moveMount(move: MoveRequest, now: Ms): Promise<Result<number>> {
    return (await this.#open()).mounts.move(move, now);
  }

  /** The mount whose last move has this id. */
  async findMove(id: string): Promise<Mount | null> {
    return (await this.#open()).mounts.ofMove(id);
  }

  /** Schedules a generation of list shards to open when every isolate knows of it. Safe to repeat. */
  async openListGeneration(generation: number, now: Ms): Promise<void> {
    (await this.#open()).listOpenings.add(generation, now + listOpeningLeadMs(this.env));
  }

  /** All rate limit quotas, by name. */
  async listQuotas(): Promise<RateLimitQuota[]> {
    return (await this.#open()).quotas.all();
  }

  /** Settings common to all rate limit quotas. */
  async quotaConfig(): Promise<QuotaConfig> {
    return (await this.#open()).quotas.config();
  }

  /** Creates or replaces a rate limit quota. A 400 with the reason when it is invalid. */
  async writeQuota(write: QuotaWrite, attempt: CallAttempt = {}): Promise<Result<null>> {
    const { quotas, mounts } = await this.#open();
    return this.#carriedOut.once(attempt, () => quotas.write(write, placesOfQuotas(mounts.all())));
  }

  /** Deletes the rate limit quota `name`. */
  deleteQuota(name: string, attempt: CallAttempt = {}): void {
    this.#carriedOut.once(attempt, () => ok(this.#stores.quotas.delete(name)));
  }

  /** Replaces the settings common to all quotas. A 400 with the reason when they are invalid. */
  async configureQuotas(config: QuotaConfig, attempt: CallAttempt = {}): Promise<Result<null>> {
    const { quotas } = await this.#open();
    return this.#carriedOut.once(attempt, () => quotas.configure(config));
  }
}

/** How the object is called in a cluster. */
const RULES = {
  repeated: [
    "snapshot",
    "sealedKeyRing",
    "keyUse",
    "revision",
    "longestTtl",
    "beginRestore",
    "finishRestore",
    "rootGeneration",
    "auditBacklogs",
    "checkSeals",
    "readPolicy",
    "readPolicies",
    "listPolicies",
    "policyVersions",
    "findMount",
    "watermarks",
    "findMove",
    "announceMethodState",
    "admitCustomId",
    "addWatermark",
    "watermarksCleaned",
    "disableMount",
    "moveMount",
    "listQuotas",
    "quotaConfig",
  ],
} as const;

export function systemOf(env: SystemEnv): DurableObjectStub<System> {
  return objectNamed(env, env.SYSTEM, "system", RULES);
}
