import { within } from "../base/location.ts";
import { ok, type Result, refuse } from "../base/result.ts";
import type { QuotaConfig, RateLimitQuota } from "../quota/quota.ts";
import type { QuotaWrite } from "../quota/rules.ts";
import { RowSeals } from "../storage/row-seals.ts";
import { checkSeals, type SealPosition, type SealStep } from "../storage/seal-check.ts";
import { StoredObject } from "../storage/stored-object.ts";
import { Schema } from "../storage/tables.ts";
import { listOpeningLeadMs } from "./copy-age.ts";
import type { EndRequest } from "./end-request.ts";
import type { SystemEnv } from "./env.ts";
import type { RootGeneration, TriedGeneration } from "./installation-store.ts";
import type { Mount } from "./mount.ts";
import { type MountChange, placesOfQuotas } from "./mount-rules.ts";
import { MountWriter, type MoveRequest } from "./mount-writer.ts";
import { SystemKeys } from "./open-ring.ts";
import { changedParts, type PartVersions } from "./part-versions.ts";
import type { PolicyPatch, PolicyWrite, StoredPolicy } from "./policy-store.ts";
import { changeRotation, type KeyUse, type RotationChange } from "./rotation-rules.ts";
import { type EndsOfRestore, Setup } from "./setup.ts";
import type { SystemSnapshot } from "./snapshot.ts";
import {
  fillNewInstallation,
  SYSTEM_MIGRATIONS,
  type SystemStores,
  snapshotParts,
  systemStores,
} from "./system-stores.ts";
import type { StoredWatermark, WatermarkRequest } from "./watermark-store.ts";
import type { WatermarkScope } from "./watermarks.ts";

/** The one object of an installation: initialised or not, key ring, policies, mounts. Small and read-mostly. */
export class System extends StoredObject<SystemEnv> {
  /** A new installation takes the rows of the backup that it is restored from in the place of its own. */
  protected override readonly takesPages = async () => this.#setup.takesPages();
  readonly #stores: SystemStores = systemStores(
    this.ctx.storage.sql,
    new RowSeals(this.origin.id, () => this.#keys.rowKeys),
    this.env,
  );
  readonly #keys = new SystemKeys(this.env, this.#stores.installation);
  readonly #mounts = new MountWriter(this.#stores);
  readonly #setup = new Setup(this.env, this.#stores, this.#keys);

  constructor(ctx: DurableObjectState, env: SystemEnv) {
    super(ctx, env);
    const schema = new Schema(ctx.storage.sql, SYSTEM_MIGRATIONS);
    if (schema.exists) return;
    ctx.storage.transactionSync(() => {
      schema.create();
      fillNewInstallation(this.#stores);
    });
  }

  /**
   * What has changed of the installation since the versions `known`, or null when nothing has: then
   * nothing is read.
   */
  async snapshot(known: PartVersions | null): Promise<SystemSnapshot | null> {
    if (changedParts(known, this.#stores.versions.now).size === 0) return null;
    const opened = await this.#keys.open();
    const versions = this.#stores.versions.now;
    const changed = changedParts(known, versions);
    return { versions, parts: snapshotParts(this.#stores, changed, opened, known) };
  }

  /** Stores the wrapped key ring of a new installation. False when there is one already; then nothing changes. */
  initialize(sealedKeyRing: string): Promise<boolean> {
    return this.#setup.begin(sealedKeyRing, null);
  }

  /** Begins to restore a new installation from the backup of a run. See `Setup.begin`. */
  beginRestore(run: string, sealedKeyRing: string): Promise<boolean> {
    return this.#setup.begin(sealedKeyRing, run);
  }

  /** Ends the restore of a run at `now` (ms). See `Setup.finish`. False also while the rows of this object are missing. */
  async finishRestore(run: string, ends: EndsOfRestore, now: number): Promise<boolean> {
    return this.origin.restored?.nextPage === null && this.#setup.finish(run, ends, now);
  }

  /** The wrapped key ring; null until the service is initialised. */
  sealedKeyRing(): string | null {
    return this.#stores.installation.sealedKeyRing;
  }

  /** Replaces the wrapped key ring `from` by `to`. False, with nothing written, when the stored one is not `from`. */
  replaceKeyRing(from: string, to: string): boolean {
    return this.#stores.installation.replaceKeyRing(from, to);
  }

  /** Counts encryptions of an isolate under the data keys of terms. Returns what decides about the end of `newest`. */
  async noteEncryptions(
    used: readonly { readonly term: number; readonly count: number }[],
    newest: number,
  ): Promise<KeyUse> {
    await this.#keys.mustOpen();
    for (const { term, count } of used) this.#stores.rotation.addEncryptions(term, count);
    return this.keyUse(newest);
  }

  /** What decides about the end of `term`. */
  async keyUse(term: number): Promise<KeyUse> {
    await this.#keys.mustOpen();
    return { settings: this.#stores.rotation.settings(), encryptions: this.#stores.rotation.encryptions(term) };
  }

  /** The longest life, in seconds, that a batch token can have which was made at any time. */
  longestTtl(): number {
    return this.#stores.mounts.longestTtl();
  }

  /** Changes when keys are rotated by themselves; a 400 for settings out of bounds. */
  async configureRotation(change: RotationChange): Promise<Result<null>> {
    await this.#keys.mustOpen();
    const changed = changeRotation(this.#stores.rotation.settings(), change);
    if (!changed.ok) return refuse(changed.error);
    this.#stores.rotation.writeSettings(changed.value);
    return ok(null);
  }

  /** The attempt to generate a root token that is open at `now` (ms), or null. */
  rootGeneration(now: number): RootGeneration | null {
    return this.#stores.rootGeneration.read(now);
  }

  /** Opens an attempt to generate a root token at `now` (ms). False when one is open. */
  beginRootGeneration(attempt: RootGeneration, now: number): boolean {
    return this.#stores.rootGeneration.begin(attempt, now);
  }

  /** Counts a try to finish the attempt that is open at `now` (ms), before it is judged; null when none is open any more. */
  tryRootGeneration(now: number): TriedGeneration | null {
    return this.#stores.rootGeneration.try(now);
  }

  /** Closes the attempt with this nonce, which is about to succeed. False when it is not open any more. `now` in ms. */
  closeRootGeneration(nonce: string, now: number): boolean {
    return this.#stores.rootGeneration.close(nonce, now);
  }

  /** Closes whatever attempt is open. Safe to repeat. */
  cancelRootGeneration(): void {
    this.#stores.rootGeneration.cancel();
  }

  /** Checks the seals of some rows, for tidy. */
  async checkSeals(from: SealPosition | null): Promise<SealStep> {
    await this.#keys.mustOpen();
    return checkSeals(this.#stores.seals.tables, from);
  }

  /** Makes every isolate ask the directory for the custom token id with this keyed hash from now on. */
  admitCustomId(filterKey: Uint8Array): void {
    this.#stores.customIds.add(filterKey);
  }

  /** The policy `name` at `now` (ms), or null. */
  async readPolicy(name: string, now: number): Promise<StoredPolicy | null> {
    await this.#keys.mustOpen();
    return this.#stores.policies.read(name, now);
  }

  /** The policies of these names that there are at `now` (ms). */
  async readPolicies(names: readonly string[], now: number): Promise<StoredPolicy[]> {
    await this.#keys.mustOpen();
    return names.flatMap((name) => this.#stores.policies.read(name, now) ?? []);
  }

  /** Names of all stored policies at `now` (ms), sorted. */
  listPolicies(now: number): string[] {
    return this.#stores.policies.names(now);
  }

  /** Makes or replaces the policy `name`. `now` in ms. */
  async writePolicy(name: string, write: PolicyWrite, now: number): Promise<Result<null>> {
    await this.#keys.mustOpen();
    return this.#stores.policies.write(name, write, now);
  }

  /** Changes the policy `name`. `now` in ms. */
  async patchPolicy(name: string, patch: PolicyPatch, now: number): Promise<Result<null>> {
    await this.#keys.mustOpen();
    return this.#stores.policies.patch(name, patch, now);
  }

  /** Deletes the policy `name`, see `PolicyStore.delete`. `now` in ms. */
  async deletePolicy(name: string, cas: number | null, now: number): Promise<Result<null>> {
    await this.#keys.mustOpen();
    return this.#stores.policies.delete(name, cas, now);
  }

  /** Adds a mount. Two that are enabled at once can't both get one place. */
  async enableMount(mount: Mount): Promise<Result<null>> {
    await this.#keys.mustOpen();
    return this.#mounts.enable(mount);
  }

  /** Changes the settings of the mount at `path`. */
  async tuneMount(path: string, change: MountChange): Promise<Result<null>> {
    await this.#keys.mustOpen();
    return this.#mounts.tune(path, change);
  }

  /** Publishes the number of a newer state of the method's data at the mount with this uuid to all isolates. Safe to repeat. */
  async announceMethodState(uuid: string, state: number): Promise<void> {
    await this.#keys.mustOpen();
    this.#mounts.noteMethodState(uuid, state);
  }

  /** The mount at `path`, in service or not. */
  async findMount(path: string): Promise<Mount | null> {
    await this.#keys.mustOpen();
    return this.#stores.mounts.at(path);
  }

  /**
   * Removes the mount with this uuid and ends all that it issued; its place is free. Safe to repeat.
   *
   * @param asked who asks.
   * @param now ms.
   * @returns the number of the watermark; a refusal when the mount is not at `path`, or moves to another place.
   */
  async disableMount(path: string, uuid: string, asked: EndRequest, now: number): Promise<Result<number>> {
    await this.#keys.mustOpen();
    return this.#mounts.disable(path, uuid, asked, now);
  }

  /**
   * Ends tokens in constant time. Safe to repeat with the id of the request.
   *
   * @param now ms.
   * @returns the number of the watermark; a refusal when too many are remembered.
   */
  async addWatermark(request: WatermarkRequest, now: number): Promise<Result<number>> {
    await this.#keys.mustOpen();
    return this.#stores.watermarks.add(request, now);
  }

  /** All watermarks, the oldest first. */
  async watermarks(): Promise<StoredWatermark[]> {
    await this.#keys.mustOpen();
    return this.#stores.watermarks.all();
  }

  /**
   * Notes that every stored token is revoked which the watermarks of `scope` (null: of every scope) up to the number `upTo`
   * end. Safe to repeat. `now` in ms.
   */
  async watermarksCleaned(scope: WatermarkScope | null, upTo: number, now: number): Promise<void> {
    await this.#keys.mustOpen();
    this.#stores.watermarks.clean(scope, upTo, now);
  }

  /**
   * Puts the mount at `from` to `to` and ends all that it issued at the old place, whose path is free from then on. Safe
   * to repeat with one `id`.
   *
   * @param now ms.
   * @returns the number of the watermark; a refusal when the mount is not at `from`, or nothing may be at `to`.
   */
  async moveMount(move: MoveRequest, now: number): Promise<Result<number>> {
    await this.#keys.mustOpen();
    return this.#mounts.move(move, now);
  }

  /** The mount whose last move has this id. */
  async findMove(id: string): Promise<Mount | null> {
    await this.#keys.mustOpen();
    return this.#stores.mounts.ofMove(id);
  }

  /**
   * Has another generation of shards of the lists open, as soon as every isolate knows of it. Safe to repeat.
   *
   * @param generation its number: 1 for the first that opens after the one of every installation. Nothing happens when it has one.
   * @param now ms.
   */
  async openListGeneration(generation: number, now: number): Promise<void> {
    await this.#keys.mustOpen();
    this.#stores.listOpenings.add(generation, now + listOpeningLeadMs(this.env));
  }

  /** All rate limit quotas, by name. */
  async listQuotas(): Promise<RateLimitQuota[]> {
    await this.#keys.mustOpen();
    return this.#stores.quotas.all();
  }

  /** What holds for all rate limit quotas. */
  async quotaConfig(): Promise<QuotaConfig> {
    await this.#keys.mustOpen();
    return this.#stores.quotas.config();
  }

  /** Makes or replaces a rate limit quota; a 400 says why it can't be. */
  async writeQuota(write: QuotaWrite): Promise<Result<null>> {
    await this.#keys.mustOpen();
    return this.#stores.quotas.write(write, placesOfQuotas(this.#stores.mounts.all()));
  }

  /** Deletes the rate limit quota `name`. Safe to repeat. */
  deleteQuota(name: string): void {
    this.#stores.quotas.delete(name);
  }

  /** Replaces what holds for all quotas; a 400 says why it can't be. */
  async configureQuotas(config: QuotaConfig): Promise<Result<null>> {
    await this.#keys.mustOpen();
    return this.#stores.quotas.configure(config);
  }
}

/** The system object of the installation. */
export function systemOf(env: SystemEnv): DurableObjectStub<System> {
  return within(env, env.SYSTEM).getByName("system");
}
