import { DurableObject } from "cloudflare:workers";
import { currentTime } from "../base/clock.ts";
import { type Failure, UNAUTHENTICATED } from "../base/errors.ts";
import { err, ok, type Result } from "../base/result.ts";
import { equalBytes } from "../crypto/bytes.ts";
import type { RowKeys } from "../crypto/row-keys.ts";
import type { Env } from "../env.ts";
import { authorize } from "../identity/access.ts";
import type { EntityView } from "../identity/model.ts";
import { loadActiveEntity } from "../identity/standing.ts";
import type { Verdict } from "../policy/acl.ts";
import { isLostAlarm, pendingAlarm } from "../storage/pending-alarm.ts";
import { readVersions } from "../storage/schema.ts";
import { type Installation, loadInstallationSince, mustLoadInstallation } from "../system/installation.ts";
import { isEnded, NO_WATERMARKS, type Watermarks } from "../system/watermarks.ts";
import type { CallerAction, Outcome, TargetAction, TreeAnswer, TreeCall } from "../token/actions.ts";
import { firstRowAt, type NewTokenIds } from "../token/ids.ts";
import type { TokenSpec, TokenView } from "../token/record.ts";
import { addressAllowed } from "../token/rules/address.ts";
import { isMadeElsewhere, planChild } from "../token/rules/create.ts";
import { REVOKED_MEANWHILE } from "../token/rules/revoked-meanwhile.ts";
import { performCubbyhole } from "./cubbyhole/perform.ts";
import { CubbyholeStore, type CubbyholeValue } from "./cubbyhole/store.ts";
import { accessorShard, treeShardNumber } from "./index/accessor-shard.ts";
import type { LoneEnd } from "./index/lone-end.ts";
import type { InventoryEntry } from "./inventory/entry.ts";
import { type Lineage, TreeLineage, type TreePicture } from "./inventory/lineage.ts";
import { type RevokedInTree, type RevokeInTree, revokeFiltered } from "./inventory/revoke-in-tree.ts";
import { TreeInventory } from "./inventory/tree-inventory.ts";
import type { FoundInTree, LeaseAction, LeaseOutcome, RowAndTail, WalkAnswer, WalkMode } from "./leases/actions.ts";
import { TreeLeases } from "./leases/tree-leases.ts";
import { isOneProcess, knownToken, LiveTokens } from "./live-tokens.ts";
import type { TidyStep, TidyStepResult } from "./tidy/step.ts";
import { nothingHere, TreeTidy } from "./tidy/tree-tidy.ts";
import { TokenWriter } from "./token-writer.ts";
import { REVOKED, type TokenRow, TreeStore } from "./tree-store.ts";
import { TreeSweep } from "./tree-sweep.ts";
import { TreeTargets } from "./tree-targets.ts";

/** Pause after a step that failed, for example because a shard did not answer. */
const SWEEP_RETRY_MS = 30_000;

/** A sweep that a caller waits for is the alarm's after this time, should the call have ended in the middle. */
const SWEEP_BY_CALLER_MS = 60_000;

/** The platform takes no alarm after 2189, and a token may outlive that. */
const LATEST_ALARM_MS = Date.UTC(2189, 0, 1);

/** A clock that is set back by more than this (ms) was wrong before. */
const CLOCK_MS = 86_400_000;

/** An only token that nobody has asked for so long after its end (ms) is ended by its tree. */
const FORGOTTEN_MS = 86_400_000;

/** A freed tree with a larger database than this (bytes) loses it; a smaller one keeps it for the next who takes the tree. */
const MAX_KEPT_BYTES = 262_144;

/** Actions after which nothing of the tree is known outside it. */
const VOIDS_VIEWS: ReadonlySet<CallerAction["kind"]> = new Set(["renew", "revoke", "revoke_orphan"]);

/** The answer for every token that can't be used, whatever the reason. */
const REFUSED = err(UNAUTHENTICATED);
const NOT_FOUND = err({ code: "not_found" } as const);
/**
 * A token tree: a token without a parent, and everything created from it. Cascade, use counts and expiry of the tree are
 * each one transaction here.
 *
 * Methods that change something do all their reading and writing without an `await` in between, which makes them one
 * transaction; what they wait for (the installation) comes before.
 */
export class TokenTree extends DurableObject<Env> {
  readonly #store: TreeStore;
  readonly #cubbyhole: CubbyholeStore;
  readonly #births: TokenWriter;
  readonly #targets: TreeTargets;
  readonly #leases: TreeLeases;
  readonly #inventory: TreeInventory;
  readonly #lineage: TreeLineage;
  readonly #sweep: TreeSweep;
  readonly #tidy: TreeTidy;
  readonly #live: LiveTokens;
  readonly #treeId: string;
  /** True when the id of the tree, of which nothing is left, was handed back to a shard. */
  #gaveBack = false;
  /**
   * True when a shard asks for the end of an only token: it has the token on its list, or has noted that it handed out the tree. So
   * such a tree needs no alarm.
   */
  #isAskedFor = false;
  /** True when the shard that handed out this tree was told that it is empty: it has no note of it any more. */
  #wasReported = false;
  /** Steps of tidy runs that are under way. */
  #tidying = 0;
  /** Checks and makes seals of rows; null until the first call that reads or writes a token. */
  #rowKeys: RowKeys | null = null;
  /** As of the last call. */
  #watermarks: Watermarks = NO_WATERMARKS;
  /** When the alarm is set for (ms), or null. */
  #alarmAt: number | null = null;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    const { sql } = ctx.storage;
    const treeId = ctx.id.toString();
    this.#treeId = treeId;
    const versions = readVersions(sql);
    const arm = () => this.#arm();
    const live = new LiveTokens(env, treeId, () => ctx.storage.sync());
    const inventory = new TreeInventory({ env, treeId, tokens: () => tokens, open: () => this.#open() });
    const tokens: TreeStore = new TreeStore(
      sql,
      treeId,
      { rowKeys: () => this.#openedRowKeys(), watermarks: () => this.#watermarks },
      inventory,
      () => live.changed(),
      versions,
    );
    const cubbyhole = new CubbyholeStore(sql, versions);
    const armBehindSweep = () => this.#arm(currentTime() + SWEEP_BY_CALLER_MS);
    const leases = new TreeLeases({ env, sql, versions, treeId, tokens, arm, armBehindSweep });
    this.#live = live;
    this.#store = tokens;
    this.#cubbyhole = cubbyhole;
    this.#leases = leases;
    this.#inventory = inventory;
    const describe = (rows: readonly number[]) => inventory.describe(rows);
    this.#lineage = new TreeLineage({ sql, tokens, cubbyhole, describe, leases });
    this.#births = new TokenWriter({ treeId, tokens, cubbyhole, inventory, arm });
    this.#targets = new TreeTargets({ tokens, cubbyhole, arm });
    this.#sweep = new TreeSweep({
      env,
      sql,
      treeId,
      isCreated: () => tokens.isCreated,
      cubbyhole,
      inventory,
      endLeasesOf: (rows) => leases.endOfTokens(rows),
      deleted: (rows) => tokens.deleted(rows, currentTime(), isOneProcess(env)),
      givesBack: (rows) => this.#givesBack(rows),
    });
    const endLeasesOf = (rows: readonly number[], limit: number) => leases.endSomeOf(rows, limit);
    this.#tidy = new TreeTidy({ env, sql, treeId, tokens, endLeasesOf });
    if (this.#store.isCreated) {
      ctx.blockConcurrencyWhile(async () => {
        this.#refresh();
        const alarm = await ctx.storage.getAlarm();
        // The rows say when one that was lost is due.
        const isLost = isLostAlarm(alarm, currentTime());
        this.#alarmAt = isLost ? null : alarm;
        // An only token that no shard knows of has an alarm until one does.
        this.#isAskedFor = !isLost && this.#store.isLone;
        this.#arm();
      });
    }
  }

  /**
   * Starts the tree with its first token, and what it keeps from the beginning. The list of accessors hears of it later, whatever
   * ends in between. A tree of which nothing is left can be started again: nothing that was issued in a life before is good in it.
   *
   * @param drawnFrom the shard that handed out the id of the tree; null: none did.
   * @returns "taken", with nothing done, when something is left in the tree, or the row may have been a token's before: another id
   *   has to be drawn.
   */
  async create(
    spec: TokenSpec,
    ids: NewTokenIds,
    drawnFrom: number | null,
    cubbyhole: readonly CubbyholeValue[] = [],
  ): Promise<Result<TokenView | "taken", Failure>> {
    if (!ids.seal) await this.#open(spec.record.watermark);
    if (!this.#isEmpty || ids.row <= this.#store.floor) return ok("taken");
    if (isEnded(this.#watermarks.all, spec.record)) return err(REVOKED_MEANWHILE);
    this.#gaveBack = false;
    this.#isAskedFor = drawnFrom !== null && !this.#wasReported;
    this.#wasReported = false;
    this.#store.begin();
    return ok(this.#births.first(spec, ids, cubbyhole, drawnFrom) ?? "taken");
  }

  /** Ends a tree whose first token, the one in this row, nobody will ever have. Safe to repeat. */
  async abandon(row: number): Promise<void> {
    if (!this.#store.isCreated || !this.#store.exists(row)) return;
    this.#store.revoke(row, REVOKED);
    this.#arm(currentTime() + SWEEP_BY_CALLER_MS);
    await this.#sweep.run();
    await this.#settle();
  }

  /**
   * Asks for what a shard should have heard of a tree whose id it handed out: the first token, which is listed then.
   *
   * @returns "empty" when nothing is in the tree and it can be taken.
   */
  async report(): Promise<"empty" | "used"> {
    this.#wasReported = this.#isEmpty;
    if (this.#isEmpty) return this.#canBeTaken ? "empty" : "used";
    await this.#tellFirst();
    this.#arm();
    return "used";
  }

  /**
   * Ends the only token of the tree when its time is over, for the shard that has it on its list and takes it off with the answer: no
   * other call is needed. Safe to repeat: an answer that was lost is given again.
   */
  async endLone(row: number): Promise<LoneEnd> {
    await this.#open();
    if (this.#store.isCreated) {
      if (this.#store.live(row, currentTime())) {
        const [entry] = this.#inventory.describe([row]);
        if (entry) return { kind: "alive", entry };
      }
      const isSwept = this.#store.hasOnly([row]) && (await this.#sweep.stepFor(row));
      if (!isSwept && this.#store.isCreated && this.#store.exists(row)) {
        // Others are left in the tree, or the token ends in another way than by its time.
        this.#isAskedFor = false;
        this.#arm();
        return { kind: "ending" };
      }
      // The answer gives a tree back of which nothing is left.
      this.#gaveBack = true;
      await this.#settle();
      this.#gaveBack = this.#isEmpty;
    }
    return { kind: "gone", isFree: isOneProcess(this.env) && this.#isEmpty && this.#canBeTaken };
  }

  /**
   * Checks the caller's token, counts the use, lets the policies decide and then performs `call.action`: everything that a
   * request does in its own tree in one call.
   *
   * @returns the caller with the outcome, also when the policies refuse: then without a verdict. "unauthenticated" for every
   *   token that can't be used. A failure of the action itself is the inner error: by then the caller is known.
   */
  async run(call: TreeCall): Promise<Result<TreeAnswer, Failure>> {
    const loaded = await loadInstallationSince(this.env, call.watermark);
    if (!loaded.ok) return loaded;
    const installation = loaded.value;
    this.#know(installation);
    let now = currentTime();
    let known = this.#authenticate(call, now);
    if (!known) return REFUSED;
    let entity: EntityView | null = null;
    if (known.caller.entityId !== "") {
      const standing = await loadActiveEntity(this.env, known.caller.entityId);
      if (!standing.ok) return standing;
      entity = standing.value;
      // Others were served while this waited, so what was read before is not true any more.
      now = currentTime();
      known = this.#authenticate(call, now);
      if (!known) return REFUSED;
    }
    const { row, caller } = known;

    // A use counts as soon as the token was good, also when the policies refuse the request.
    const usesLeft = !row || row.uses_left === 0 ? 0 : this.#store.countUse(row.row, row.uses_left);
    if (usesLeft < 0) this.#arm();
    const used = { ...caller, usesLeft };
    const allowed = authorize(installation, caller, entity, call.access, now);
    if (!allowed.ok) return ok({ caller: used, verdict: null, outcome: null });
    const verdict = allowed.value;
    const outcome = call.action && this.#perform(call.action, caller, row, verdict, installation, now);
    return ok({ caller: used, verdict, outcome });
  }

  /**
   * Performs an action on a token of this tree for a caller whose own tree already allowed it.
   *
   * @returns "not_found" when the target is not alive.
   */
  async act(action: TargetAction): Promise<Result<Outcome, Failure>> {
    await this.#open();
    const now = currentTime();
    const outcome = this.#targets.perform(action, null, now);
    if (action.kind === "lookup" && action.target.by === "token") this.#noteLive(action.target.row, now);
    return outcome;
  }

  /**
   * Writes a token that was planned here before, now that everything outside this tree is ready for it.
   *
   * @returns "not_found" when the parent has died since.
   */
  async insert(spec: TokenSpec, ids: NewTokenIds, parent: number): Promise<Result<Outcome, Failure>> {
    await this.#open(spec.record.watermark);
    const now = currentTime();
    if (!this.#store.isCreated || !this.#store.live(parent, now)) return NOT_FOUND;
    if (isEnded(this.#watermarks.all, spec.record)) return err(REVOKED_MEANWHILE);
    return this.#insert(spec, ids, parent, []);
  }

  /** True while the token of this row is alive: what the life of a batch token hangs on. */
  async isAlive(row: number): Promise<boolean> {
    await this.#open();
    return this.#noteLive(row, currentTime()) !== null;
  }

  /** What has become of a row: "dead" while it waits for the sweep, "absent" before it is written and after the sweep. */
  async rowStatus(row: number): Promise<"alive" | "dead" | "absent"> {
    await this.#open();
    if (!this.#store.isCreated || !this.#store.exists(row)) return "absent";
    return this.#store.live(row, currentTime()) ? "alive" : "dead";
  }

  /** What the inventory keeps of those of the rows that are alive. The size of the tree follows by itself. */
  async describe(rows: readonly number[]): Promise<InventoryEntry[]> {
    await this.#open();
    if (this.#store.isCreated && this.#store.countBelow() > 0) this.#inventory.sizeIsWanted();
    return this.#inventory.describe(rows);
  }

  /** Who made a token of this tree and what hangs below it; null when it is not alive. See `TreeLineage.of`. */
  async lineage(row: number, tail: Uint8Array, limit: number, after: number): Promise<Lineage | null> {
    await this.#open();
    return this.#lineage.of(row, tail, limit, after);
  }

  /** A token with two levels below it; null when it is not alive. */
  async picture(row: number, tail: Uint8Array): Promise<TreePicture | null> {
    await this.#open();
    return this.#lineage.picture(row, tail);
  }

  /** Accessors of a token of this tree and of those above it, the nearest. */
  async accessorsFrom(row: number): Promise<string[]> {
    await this.#open();
    return this.#store.isCreated ? this.#lineage.accessorsFrom(row) : [];
  }

  /** Revokes tokens of this tree that a filter meant, with everything below them. Safe to repeat. */
  async revokeFiltered({ sweptByCaller, ...request }: RevokeInTree): Promise<RevokedInTree> {
    await this.#open();
    const now = currentTime();
    const revoked = revokeFiltered(this.#store, this.#lineage, request, now);
    if (revoked.revoked > 0) this.#arm(sweptByCaller ? now + SWEEP_BY_CALLER_MS : now);
    return revoked;
  }

  /**
   * Sweeps what is dead, as far as one alarm does, for a caller who waits so that not too many trees sweep at a time. Whatever goes
   * wrong, and what is left, is the alarm's.
   */
  async sweep(): Promise<void> {
    if (!this.#store.isCreated) return;
    try {
      await this.#open();
      await this.#sweep.run();
    } catch (error) {
      console.error(JSON.stringify({ type: "sweep", error: String(error) }));
      return;
    }
    await this.#settle();
  }

  /** Tells the lists now what they would hear a moment later: from the answer on they know it, unless one does not answer. */
  async tellInventory(): Promise<void> {
    await this.#inventory.tell();
  }

  /** The same for whoever tells what all trees of this isolate have handed over. */
  async handOverNews(): Promise<void> {
    await this.#inventory.handOver();
  }

  /** Performs an action on a lease of this tree. "not_found" when the lease, or who shall hold it, is not there. */
  async lease(action: LeaseAction): Promise<Result<LeaseOutcome, Failure>> {
    await this.#open();
    return this.#store.isCreated ? this.#leases.perform(action) : NOT_FOUND;
  }

  /**
   * Does to leases of this tree, of tokens and of secrets, what a walk over a path prefix is for. Safe to repeat. The caller has
   * what died of it swept.
   *
   * @param watermark of a walk that cleans up after one: only tokens that are ended by this or another one are revoked.
   */
  async walk(found: FoundInTree, mode: WalkMode, watermark: number | null): Promise<WalkAnswer> {
    await this.#open(watermark ?? 0);
    if (this.#store.isCreated) return this.#leases.walk(found, mode, watermark !== null);
    const rows = (list: readonly RowAndTail[]) => list.map(({ row }) => row);
    return { unknownTokens: rows(found.tokens), unknownSecrets: rows(found.secrets), failures: [], hasDead: false };
  }

  /**
   * Performs one bounded step of a tidy run here: tells which entries elsewhere have no token, and repairs the tree's own
   * rows. Requests are served between the steps, and within one while it talks to the list of accessors.
   */
  async tidy(step: TidyStep): Promise<TidyStepResult> {
    await this.#open();
    if (!this.#store.isCreated) return nothingHere(step);
    this.#tidying++;
    try {
      const result = await this.#tidy.perform(step);
      // It may have made orphans, or found rows that somebody else wrote.
      this.#live.changed();
      // From here on the list may not have it, and then no shard asks for its end.
      if (this.#hasEnded(currentTime())) this.#isAskedFor = false;
      this.#arm();
      const { swept } = await this.#sweep.step();
      // What has ended and was not seen to yet must have an alarm coming, whatever became of the last one.
      this.#refresh();
      this.#alarmAt = await pendingAlarm(this.ctx.storage, currentTime());
      this.#arm();
      // The alarm frees a tree that this has emptied.
      if (swept > 0 && this.#isEmpty) this.#setAlarm(currentTime());
      return { ...result, repairs: { ...result.repairs, swept } };
    } finally {
      this.#tidying--;
    }
  }

  /** Sweeps what is dead, step by step, sends what has ended elsewhere, and sets itself again for the next expiry. */
  override async alarm(): Promise<void> {
    this.#alarmAt = null;
    if (!this.#store.isCreated) return;
    const later = this.#sweep.putOffTo();
    if (later !== null) return this.#setAlarm(later);
    try {
      await this.#open();
      await this.#sweep.run();
      // A caller that waited for the sweep may have freed the tree.
      if (!this.#store.isCreated) return;
      await this.#leases.work();
      // A tree of one token does not know whether it is listed.
      if (this.#inventory.nextDueAt !== null) await this.#inventory.tell();
      else if (this.#store.listing.upTo === null) await this.#tellFirst();
    } catch (error) {
      // The platform gives up after a few retries of its own; the sweep must not: dead rows cost every look-up a walk.
      console.error(JSON.stringify({ type: "sweep", error: String(error) }));
      return this.#setAlarm(currentTime() + SWEEP_RETRY_MS);
    }
    await this.#settle();
  }

  /** After a sweep: frees a tree of which nothing is left, or sets the alarm for what comes next. */
  async #settle(): Promise<void> {
    if (!this.#store.isCreated) return;
    if (this.#isEmpty) {
      // Calls that wait for another object come back to the tables.
      if (this.#leases.isBusy || this.#tidying > 0) return this.#setAlarm(currentTime() + SWEEP_RETRY_MS);
      // Nothing here can come back to life. Every login makes a tree; one that nobody takes again would stay for ever.
      return this.#free();
    }
    this.#refresh();
    this.#arm();
  }

  /** True when nothing is in the tree: no token, no value, no lease whose end somebody has to hear of. */
  get #isEmpty(): boolean {
    return !this.#store.isCreated || (this.#store.isEmpty && this.#cubbyhole.isEmpty && this.#leases.isEmpty);
  }

  /** False where the tree was freed far in the future, by a clock that was wrong then: everybody would find it taken. */
  get #canBeTaken(): boolean {
    return this.#store.floor < firstRowAt(currentTime() + CLOCK_MS);
  }

  /** Has the first token listed. One that is not alive is left to the alarm: no shard asks for it. */
  async #tellFirst(): Promise<void> {
    this.#isAskedFor = await this.#inventory.tellFirst();
  }

  /** Reads what is remembered of the rows. */
  #refresh(): void {
    this.#store.refresh();
    this.#leases.refresh();
    this.#inventory.refresh();
  }

  /**
   * True when these are the last tokens and the tree is one that is taken again: its id then goes with the call that takes them off
   * the list, before their rows go. Whoever takes it until then finds it taken.
   */
  #givesBack(rows: readonly number[]): boolean {
    this.#gaveBack =
      isOneProcess(this.env) &&
      this.#leases.isEmpty &&
      this.ctx.storage.sql.databaseSize <= MAX_KEPT_BYTES &&
      this.#store.hasOnly(rows);
    return this.#gaveBack;
  }

  /**
   * Gives back an empty tree. Where one process serves everything its file stays and the next creation takes it; elsewhere an
   * object without storage is no more, and the next tree is best made near whoever makes it.
   */
  async #free(): Promise<void> {
    const again = isOneProcess(this.env);
    this.#inventory.forget();
    if (!again || this.ctx.storage.sql.databaseSize > MAX_KEPT_BYTES) {
      const deleted = this.ctx.storage.deleteAll();
      this.#cubbyhole.forget();
      this.#leases.forget();
      this.#store.forget(again);
      await deleted;
    }
    this.#refresh();
    if (!again || this.#gaveBack) return;
    this.#gaveBack = true;
    await accessorShard(this.env, treeShardNumber(this.#treeId)).takeTree(this.#treeId);
  }

  /**
   * Gets the keys and watermarks that rows are checked with, from this isolate's copy of the installation.
   *
   * @param watermark the newest one that the caller knows.
   */
  async #open(watermark = 0): Promise<void> {
    this.#know(await mustLoadInstallation(this.env, watermark));
  }

  #know({ keys, watermarks }: Installation): void {
    this.#rowKeys = keys.rows;
    this.#watermarks = watermarks;
  }

  #openedRowKeys(): RowKeys {
    if (!this.#rowKeys) throw new Error("a token was read before the keys for its seal");
    return this.#rowKeys;
  }

  /** The caller, if its token is good; without its row where the action does not need it and the token is known. */
  #authenticate({ row, verifier, clientAddress, action }: TreeCall, now: number) {
    if (action?.kind === "create") {
      const known = knownToken(this.env, { treeId: this.#treeId, row, verifier }, this.#watermarks, now);
      if (known) return { row: null, caller: known };
    }
    const found = this.#store.isCreated ? this.#store.live(row, now) : null;
    if (!found || !equalBytes(found.fixed.verifier, verifier)) return null;
    const caller = this.#store.view(found, now);
    if (!addressAllowed(caller.boundCidrs, clientAddress)) return null;
    this.#note(found, caller, now, action === null || !VOIDS_VIEWS.has(action.kind));
    return { row: found, caller };
  }

  /** The token of a row if it is alive, which is made known to the isolate. */
  #noteLive(row: number, now: number): TokenRow | null {
    const found = this.#store.isCreated ? this.#store.live(row, now) : null;
    if (found) this.#note(found, this.#store.view(found, now), now);
    return found;
  }

  /** @param stays false when the call is about to void what it would make known. */
  #note(found: TokenRow, view: TokenView, now: number, stays = true): void {
    this.#inventory.used(found.row, now);
    if (!stays) return;
    // What is known to the Worker is used without the tree, so it is known for no longer than a use is nothing new.
    const until = () => earlier(this.#store.aliveUntil(found, now), this.#inventory.usedUntil(now));
    this.#live.found(found, view, this.#watermarks, until);
  }

  #perform(
    action: CallerAction,
    caller: TokenView,
    callerRow: TokenRow | null,
    verdict: Verdict,
    { watermarks }: Installation,
    now: number,
  ): Result<Outcome, Failure> {
    switch (action.kind) {
      case "create":
        return this.#create(action, caller, verdict, watermarks.newest, now);
      case "cubbyhole_read":
      case "cubbyhole_list":
      case "cubbyhole_write":
      case "cubbyhole_delete":
        return performCubbyhole(this.#cubbyhole, action, caller.row, verdict);
      default:
        return this.#targets.perform(action, callerRow, now);
    }
  }

  #create(
    action: Extract<CallerAction, { kind: "create" }>,
    caller: TokenView,
    verdict: Verdict,
    watermark: number,
    now: number,
  ): Result<Outcome, Failure> {
    const plan = planChild(action, caller, verdict.sudo, watermark, now);
    if (!plan.ok) return plan;
    const { spec, warnings } = plan.value;
    if (!action.ids || isMadeElsewhere(spec, action.request)) return ok({ kind: "planned", spec, warnings });
    return this.#insert(spec, action.ids, caller.row, warnings);
  }

  #insert(spec: TokenSpec, ids: NewTokenIds, parent: number, warnings: readonly string[]): Result<Outcome, Failure> {
    const token = this.#births.child(spec, ids, parent);
    return ok(token ? { kind: "created", token, warnings } : { kind: "row_taken", above: this.#store.floor });
  }

  /**
   * Sets the alarm for the next sweep unless one that is as early is set: moving it later would only cost a write.
   *
   * @param sweepFrom ms: the sweep need not come earlier.
   */
  #arm(sweepFrom = 0): void {
    const due = this.#nextSweepAt(currentTime());
    const sweep = due && Math.max(due, sweepFrom);
    const next = earlier(earlier(sweep, this.#leases.nextDueAt), this.#inventory.nextDueAt);
    if (next === null) return;
    const at = Math.min(next, LATEST_ALARM_MS);
    if (this.#alarmAt !== null && this.#alarmAt <= at) return;
    this.#setAlarm(at);
  }

  #hasEnded(now: number): boolean {
    const due = this.#store.nextSweepAt(now);
    return due !== null && due <= now;
  }

  /** When the tree has to sweep by itself (ms), or null. A shard asks for the end of an only token that nothing hangs on. */
  #nextSweepAt(now: number): number | null {
    const { hasDead, listing } = this.#store;
    const due = this.#store.nextSweepAt(now);
    const isAsked = this.#isAskedFor && !hasDead && listing.upTo === null && this.#leases.nextDueAt === null;
    return isAsked && due !== null && due > now - FORGOTTEN_MS ? null : due;
  }

  #setAlarm(at: number): Promise<void> {
    this.#alarmAt = at;
    return this.ctx.storage.setAlarm(at);
  }
}

function earlier(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.min(a, b);
}
