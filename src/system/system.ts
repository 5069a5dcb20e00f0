import { DurableObject } from "cloudflare:workers";
import { currentTime } from "../base/clock.ts";
import { type Failure, invalid } from "../base/errors.ts";
import { err, ok, type Result } from "../base/result.ts";
import { rowKeysOf } from "../crypto/key-ring.ts";
import type { RowKeys } from "../crypto/row-keys.ts";
import type { Env } from "../env.ts";
import { DEFAULT_POLICY, DEFAULT_POLICY_TEXT } from "../policy/builtin.ts";
import { parsePolicy } from "../policy/parse.ts";
import type { QuotaConfig, RateLimitQuota } from "../quota/quota.ts";
import { QUOTA_TABLES, QuotaStore } from "../quota/quota-store.ts";
import type { QuotaPlace, QuotaWrite } from "../quota/rules.ts";
import { RowSeals } from "../storage/row-seals.ts";
import { type Migration, Schema } from "../storage/schema.ts";
import { checkSeals, type SealPosition, type SealStep } from "../storage/seal-check.ts";
import { emptyFilter, withCustomId } from "./custom-id-filter.ts";
import { issuerOf, type Mount, SYSTEM_TTL_SECONDS, tokenMount } from "./mount.ts";
import { beginMove, endMove } from "./mount-move.ts";
import { type MountChange, newMountProblem, tuneMount } from "./mount-rules.ts";
import { MountStore } from "./mount-store.ts";
import { openKeyRing } from "./open-ring.ts";
import { PART_VERSION_TABLE, PartVersionStore } from "./part-versions.ts";
import { POLICY_TABLES, type PolicyPatch, PolicyStore, type PolicyWrite, type StoredPolicy } from "./policy-store.ts";
import { ROOT_GENERATION_TABLE, type RootGeneration, RootGenerationStore } from "./root-generation-store.ts";
import { changeRotation, type RotationChange, type RotationSettings } from "./rotation-rules.ts";
import { ROTATION_TABLES, RotationStore } from "./rotation-store.ts";
import { changedParts, type PartVersions, type SnapshotParts, type SystemSnapshot } from "./snapshot.ts";
import { longestIgnoranceMs } from "./snapshot-age.ts";
import { type StoredWatermark, WATERMARK_TABLES, type WatermarkRequest, WatermarkStore } from "./watermark-store.ts";
import { pathScope, type WatermarkScope } from "./watermarks.ts";

export const SYSTEM_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "the installation, its policies and its mounts",
    sql: `
      CREATE TABLE installation (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        version INTEGER NOT NULL,
        cluster_id TEXT NOT NULL,
        sealed_key_ring TEXT,
        custom_id_filter BLOB NOT NULL
      );
      ${POLICY_TABLES}
      CREATE TABLE mounts (path TEXT PRIMARY KEY, mount TEXT NOT NULL) WITHOUT ROWID;
    `,
  },
  { version: 2, description: "when keys are rotated, and how much each was used", sql: ROTATION_TABLES },
  {
    version: 3,
    description: "seals of policies and mounts; those that are there are sealed when they are read",
    sql: "ALTER TABLE policies ADD COLUMN seal BLOB; ALTER TABLE mounts ADD COLUMN seal BLOB;",
  },
  { version: 4, description: "the attempt to generate a root token", sql: ROOT_GENERATION_TABLE },
  { version: 5, description: "rate limit quotas", sql: QUOTA_TABLES },
  { version: 6, description: "watermarks, and the longest life that a mount ever gave", sql: WATERMARK_TABLES },
  { version: 7, description: "a version for each part of the snapshot", sql: PART_VERSION_TABLE },
];

/** What decides about the end of a term of keys. */
export interface KeyUse {
  readonly settings: RotationSettings;
  /** Encryptions under the data key of the term. */
  readonly encryptions: number;
}

interface InstallationRow extends Record<string, SqlStorageValue> {
  cluster_id: string;
  sealed_key_ring: string | null;
  custom_id_filter: ArrayBuffer;
  newest_watermark: number;
  /** Seconds; 0 while no mount was written since this is noted. */
  longest_ttl: number;
}

/** The one object of an installation: initialised or not, key ring, policies, mounts. Small and read-mostly. */
export class System extends DurableObject<Env> {
  readonly #sql: SqlStorage;
  readonly #policies: PolicyStore;
  readonly #mountStore: MountStore;
  readonly #rotation: RotationStore;
  readonly #rootGeneration: RootGenerationStore;
  readonly #quotas: QuotaStore;
  readonly #watermarks: WatermarkStore;
  readonly #versions: PartVersionStore;

  /** Checks and makes seals of rows; null until the key ring was opened. */
  #rowKeys: RowKeys | null = null;
  /** The wrapped ring that they are from. */
  #openedRing: string | null = null;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#sql = ctx.storage.sql;
    const seals = new RowSeals(ctx.id.toString(), () => this.#rowKeys);
    this.#policies = new PolicyStore(this.#sql, seals);
    this.#mountStore = new MountStore(this.#sql, seals);
    this.#rotation = new RotationStore(this.#sql);
    this.#rootGeneration = new RootGenerationStore(this.#sql);
    this.#quotas = new QuotaStore(this.#sql);
    this.#watermarks = new WatermarkStore(this.#sql);
    this.#versions = new PartVersionStore(this.#sql);
    const schema = new Schema(this.#sql, SYSTEM_MIGRATIONS);
    if (!schema.exists) ctx.storage.transactionSync(() => this.#create(schema));
  }

  /**
   * What has changed of the installation for somebody who knows the versions `known`, or null when that is still true: then
   * nothing is read.
   */
  async snapshot(known: PartVersions | null): Promise<SystemSnapshot | null> {
    if (changedParts(known, this.#versions.now).size === 0) return null;
    const opened = await this.#open();
    const versions = this.#versions.now;
    const changed = changedParts(known, versions);
    return {
      versions,
      parts: {
        ...(changed.has("keys") && { keys: this.#keys() }),
        // Rows that nobody can check are not handed out. Isolates with the same settings can't open the ring either.
        ...(changed.has("policies") && { policies: opened ? this.#policies.rules() : { policies: [], tampered: [] } }),
        ...(changed.has("mounts") && { mounts: opened ? this.#mountStore.all() : [] }),
        ...(changed.has("customIds") && { customIds: new Uint8Array(this.#installation().custom_id_filter) }),
        ...(changed.has("quotas") && { quotas: { list: this.#quotas.all(), config: this.#quotas.config() } }),
        ...(changed.has("watermarks") && { watermarks: this.#watermarks.snapshot() }),
      },
    };
  }

  /** Stores the wrapped key ring of a new installation. False when there is one already; then nothing changes. */
  async initialize(sealedKeyRing: string): Promise<boolean> {
    const opened = await openKeyRing(this.env, sealedKeyRing);
    if (!opened.ok || this.#installation().sealed_key_ring !== null) return false;
    this.#rowKeys = rowKeysOf(opened.value.ring);
    this.#openedRing = sealedKeyRing;
    this.#policies.sealed.sealAll();
    this.#mountStore.sealed.sealAll();
    this.#sql.exec("UPDATE installation SET sealed_key_ring = ?", sealedKeyRing);
    this.#versions.change("keys");
    return true;
  }

  /** The wrapped key ring; null until the service is initialised. */
  sealedKeyRing(): string | null {
    return this.#installation().sealed_key_ring;
  }

  /** Replaces the wrapped key ring `from` by `to`. False, with nothing written, when the stored one is not `from`. */
  replaceKeyRing(from: string, to: string): boolean {
    const written = this.#sql.exec("UPDATE installation SET sealed_key_ring = ? WHERE sealed_key_ring = ?", to, from);
    if (written.rowsWritten === 0) return false;
    this.#versions.change("keys");
    return true;
  }

  /** Counts encryptions of an isolate under the data keys of terms. Returns what decides about the end of `newest`. */
  noteEncryptions(used: readonly { readonly term: number; readonly count: number }[], newest: number): KeyUse {
    for (const { term, count } of used) this.#rotation.addEncryptions(term, count);
    return this.keyUse(newest);
  }

  /** What decides about the end of `term`. */
  keyUse(term: number): KeyUse {
    return { settings: this.#rotation.settings(), encryptions: this.#rotation.encryptions(term) };
  }

  /** Changes when keys are rotated by themselves; a 400 for settings out of bounds. */
  configureRotation(change: RotationChange): Result<null, Failure> {
    const changed = changeRotation(this.#rotation.settings(), change);
    if (!changed.ok) return err(invalid(changed.error));
    this.#rotation.writeSettings(changed.value);
    return ok(null);
  }

  /** The attempt to generate a root token that is open at `now` (ms), or null. */
  rootGeneration(now: number): RootGeneration | null {
    return this.#rootGeneration.read(now);
  }

  /** Opens an attempt to generate a root token at `now` (ms). False when one is open. */
  beginRootGeneration(attempt: RootGeneration, now: number): boolean {
    return this.#rootGeneration.begin(attempt, now);
  }

  /** Closes the attempt with this nonce, which is about to succeed. False when it is not open any more. `now` in ms. */
  closeRootGeneration(nonce: string, now: number): boolean {
    return this.#rootGeneration.close(nonce, now);
  }

  /** Closes whatever attempt is open. Safe to repeat. */
  cancelRootGeneration(): void {
    this.#rootGeneration.cancel();
  }

  /** Checks the seals of some policies and mounts, for tidy. */
  async checkSeals(from: SealPosition | null): Promise<SealStep> {
    await this.#mustOpen();
    return checkSeals([this.#policies.sealed, this.#mountStore.sealed], from);
  }

  /** Makes every isolate ask the directory for the custom token id with this keyed hash from now on. */
  admitCustomId(filterKey: Uint8Array): void {
    const filter = withCustomId(new Uint8Array(this.#installation().custom_id_filter), filterKey);
    this.#sql.exec("UPDATE installation SET custom_id_filter = ?", filter);
    this.#versions.change("customIds");
  }

  /** The policy `name` at `now` (ms), or null. */
  async readPolicy(name: string, now: number): Promise<StoredPolicy | null> {
    await this.#mustOpen();
    return this.#policies.read(name, now);
  }

  /** The policies of these names that there are at `now` (ms). */
  async readPolicies(names: readonly string[], now: number): Promise<StoredPolicy[]> {
    await this.#mustOpen();
    return names.flatMap((name) => this.#policies.read(name, now) ?? []);
  }

  /** Names of all stored policies at `now` (ms), sorted. */
  listPolicies(now: number): string[] {
    return this.#policies.names(now);
  }

  /** Makes or replaces the policy `name`. `now` in ms. */
  async writePolicy(name: string, write: PolicyWrite, now: number): Promise<Result<null, Failure>> {
    await this.#mustOpen();
    const written = this.#policies.write(name, write, now);
    if (written.ok) this.#versions.change("policies");
    return written;
  }

  /** Changes the policy `name`. `now` in ms. */
  async patchPolicy(name: string, patch: PolicyPatch, now: number): Promise<Result<null, Failure>> {
    await this.#mustOpen();
    const patched = this.#policies.patch(name, patch, now);
    if (patched.ok) this.#versions.change("policies");
    return patched;
  }

  /** Deletes the policy `name`. Safe to repeat. */
  deletePolicy(name: string): void {
    this.#policies.delete(name);
    this.#versions.change("policies");
  }

  /** Adds a mount. Two that are enabled at once can't both get one place. */
  async enableMount(mount: Mount): Promise<Result<null, Failure>> {
    await this.#mustOpen();
    const problem = newMountProblem(mount.path, this.#mountStore.all());
    if (problem) return err(invalid(problem));
    this.#putMount(mount);
    return ok(null);
  }

  /** Changes the settings of the mount at `path`. */
  async tuneMount(path: string, change: MountChange): Promise<Result<null, Failure>> {
    await this.#mustOpen();
    const mount = this.#mountAt(path);
    if (!mount || mount.disabled) return err(invalid(`No auth engine at ${path}`));
    const tuned = tuneMount(mount, change);
    if (!tuned.ok) return err(invalid(tuned.error));
    this.#putMount(tuned.value);
    return ok(null);
  }

  /** The mount at `path`, in service or not. */
  async findMount(path: string): Promise<Mount | null> {
    await this.#mustOpen();
    return this.#mountAt(path);
  }

  /**
   * Removes the mount with this uuid and ends all that it issued; its place is free. Safe to repeat.
   *
   * @param now ms.
   * @returns the number of the watermark; a refusal when the mount is not at `path`, or moves to another place.
   */
  async disableMount(path: string, uuid: string, now: number): Promise<Result<number, Failure>> {
    await this.#mustOpen();
    const done = this.#watermarks.numberOf(uuid);
    if (done !== null) return ok(done);
    const mount = this.#mountAt(path);
    if (mount?.uuid !== uuid || (mount.move && !mount.move.finished)) return err(invalid(`No auth engine at ${path}`));
    const added = this.#addWatermark({ id: uuid, scope: pathScope(`auth/${path}`), createdBefore: null }, now);
    if (!added.ok) return added;
    this.#quotas.deleteOfMount(`auth/${path}`);
    this.#versions.change("watermarks", "quotas");
    this.#dropMount(path);
    return added;
  }

  /**
   * Ends tokens in constant time. Safe to repeat with the id of the request.
   *
   * @param now ms.
   * @returns the number of the watermark; a refusal when too many are remembered.
   */
  addWatermark(request: WatermarkRequest, now: number): Result<number, Failure> {
    const added = this.#addWatermark(request, now);
    if (added.ok) this.#versions.change("watermarks");
    return added;
  }

  /** All watermarks, the oldest first. */
  watermarks(): StoredWatermark[] {
    return this.#watermarks.all();
  }

  /**
   * Notes that every stored token is revoked which the watermarks of `scope` (null: of every scope) up to the number `upTo`
   * end. Safe to repeat. `now` in ms.
   */
  watermarksCleaned(scope: WatermarkScope | null, upTo: number, now: number): void {
    const cleaned = this.#watermarks.clean(scope, upTo, now);
    const dropped = this.#dropOldWatermarks(now);
    if (cleaned || dropped) this.#versions.change("watermarks");
  }

  /**
   * Takes the mount at `from` out of service, so that it can move to `to`. Safe to repeat with one `id`.
   *
   * @returns the id under which it issues tokens at the old place; null when the move with this id is over.
   */
  async beginMove(id: string, from: string, to: string): Promise<Result<string | null, Failure>> {
    await this.#mustOpen();
    const known = this.#mountOfMove(id);
    if (known?.move?.finished) return ok(null);
    if (known) return ok(issuerOf(known));
    const moving = beginMove(this.#mountStore.all(), from, { id, from, to, finished: false });
    if (!moving.ok) return moving;
    this.#putMount(moving.value);
    return ok(issuerOf(moving.value));
  }

  /** Puts a mount, of which nothing is left at the old place, into service at the new one. Safe to repeat. */
  async endMove(id: string): Promise<void> {
    await this.#mustOpen();
    const mount = this.#mountOfMove(id);
    if (!mount?.move || mount.move.finished) return;
    this.#quotas.moveMount(`auth/${mount.path}`, `auth/${mount.move.to}`);
    this.#versions.change("quotas");
    this.#dropMount(mount.path);
    this.#putMount(endMove(mount, mount.move));
  }

  /** The mount whose last move has this id. */
  async findMove(id: string): Promise<Mount | null> {
    await this.#mustOpen();
    return this.#mountOfMove(id);
  }

  /** All rate limit quotas, by name. */
  listQuotas(): RateLimitQuota[] {
    return this.#quotas.all();
  }

  /** What holds for all rate limit quotas. */
  quotaConfig(): QuotaConfig {
    return this.#quotas.config();
  }

  /** Makes or replaces a rate limit quota; a 400 says why it can't be. */
  async writeQuota(write: QuotaWrite): Promise<Result<null, Failure>> {
    await this.#mustOpen();
    const written = this.#quotas.write(write, placesOfQuotas(this.#mountStore.all()));
    if (!written.ok) return err(invalid(written.error));
    this.#versions.change("quotas");
    return ok(null);
  }

  /** Deletes the rate limit quota `name`. Safe to repeat. */
  deleteQuota(name: string): void {
    this.#quotas.delete(name);
    this.#versions.change("quotas");
  }

  /** Replaces what holds for all quotas; a 400 says why it can't be. */
  configureQuotas(config: QuotaConfig): Result<null, Failure> {
    const configured = this.#quotas.configure(config);
    if (!configured.ok) return err(invalid(configured.error));
    this.#versions.change("quotas");
    return ok(null);
  }

  #mountAt(path: string): Mount | null {
    return this.#mountStore.all().find((mount) => mount.path === path) ?? null;
  }

  #mountOfMove(id: string): Mount | null {
    return this.#mountStore.all().find(({ move }) => move?.id === id) ?? null;
  }

  #putMount(mount: Mount): void {
    this.#mountStore.put(mount);
    this.#sql.exec("UPDATE installation SET longest_ttl = MAX(longest_ttl, ?)", this.#longestTtlOfMounts());
    this.#versions.change("mounts");
  }

  #addWatermark(request: WatermarkRequest, now: number): Result<number, Failure> {
    this.#dropOldWatermarks(now);
    return this.#watermarks.add(request, now);
  }

  /** A watermark goes when no batch token of before it can be left: nothing revokes those. */
  #dropOldWatermarks(now: number): boolean {
    const longestTtl = Math.max(this.#installation().longest_ttl, this.#longestTtlOfMounts());
    return this.#watermarks.dropOld(now - longestTtl * 1000 - longestIgnoranceMs(this.env));
  }

  /** Seconds. */
  #longestTtlOfMounts(): number {
    return Math.max(SYSTEM_TTL_SECONDS, ...this.#mountStore.all().map(({ config }) => config.maxLeaseTtl));
  }

  #dropMount(path: string): void {
    this.#mountStore.delete(path);
    this.#versions.change("mounts");
  }

  /**
   * Gets the keys for seals of rows. False when there is a ring that can't be opened with the settings of this object and
   * none was opened before; a ring that is only wrapped anew has the same keys.
   */
  async #open(): Promise<boolean> {
    const sealed = this.#installation().sealed_key_ring;
    if (sealed === null || sealed === this.#openedRing) return true;
    const opened = await openKeyRing(this.env, sealed);
    if (opened.ok) {
      this.#rowKeys = rowKeysOf(opened.value.ring);
      this.#openedRing = sealed;
    }
    return this.#rowKeys !== null;
  }

  async #mustOpen(): Promise<void> {
    if (!(await this.#open())) throw new Error("rows can't be checked: the key ring does not open");
  }

  #create(schema: Schema): void {
    schema.create();
    this.#sql.exec(
      "INSERT INTO installation (id, cluster_id, custom_id_filter) VALUES (1, ?, ?)",
      crypto.randomUUID(),
      emptyFilter(),
    );
    const rules = parsePolicy(DEFAULT_POLICY_TEXT, 0);
    if (!rules.ok) throw new Error("the default policy does not parse");
    const write: PolicyWrite = {
      content: { text: DEFAULT_POLICY_TEXT, rulesJson: JSON.stringify(rules.value) },
      expiresAt: null,
      casRequired: false,
      allowSlashes: false,
      allowWildcards: false,
      cas: null,
    };
    this.#policies.write(DEFAULT_POLICY, write, currentTime());
    this.#mountStore.put(tokenMount());
  }

  #installation(): InstallationRow {
    return this.#sql.exec<InstallationRow>("SELECT * FROM installation").one();
  }

  #keys(): SnapshotParts["keys"] {
    const { cluster_id: clusterId, sealed_key_ring: sealedKeyRing } = this.#installation();
    return { clusterId, sealedKeyRing };
  }
}

/** The mounts that quotas can be for. Logins of every method but the token method name a role. */
function placesOfQuotas(mounts: readonly Mount[]): QuotaPlace[] {
  const fixed = ["sys/", "identity/", "cubbyhole/"].map((path) => ({ path, hasRoles: false }));
  return [...fixed, ...mounts.map(({ path, type }) => ({ path: `auth/${path}`, hasRoles: type !== "token" }))];
}

/** The system object of the installation. */
export function systemOf(env: Env): DurableObjectStub<System> {
  return env.SYSTEM.getByName("system");
}
