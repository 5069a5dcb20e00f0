import { DurableObject } from "cloudflare:workers";
import { currentTime } from "../base/clock.ts";
import { type Failure, UNAUTHENTICATED } from "../base/errors.ts";
import { err, ok, type Result } from "../base/result.ts";
import type { RowKeys } from "../crypto/row-keys.ts";
import type { Env } from "../env.ts";
import { loadActiveEntity } from "../identity/standing.ts";
import type { FoundInTree, LeaseAction, LeaseOutcome, WalkAnswer, WalkMode } from "../lease/actions.ts";
import { TreeLeases } from "../lease/tree-leases.ts";
import type { SingleTokenEnd } from "../listing/expiry/single-token-end.ts";
import type { InventoryEntry } from "../listing/inventory/entry.ts";
import type { RevokedInTree, RevokeInTree } from "../listing/inventory/revoke-in-tree.ts";
import { EarliestAlarm } from "../storage/earliest-alarm.ts";
import { readVersions } from "../storage/schema.ts";
import { type Installation, loadInstallationSince, mustLoadInstallation } from "../system/installation.ts";
import { isEnded, NO_WATERMARKS, type Watermarks } from "../system/watermarks.ts";
import type { Outcome, TargetAction, TreeAnswer, TreeCall } from "../token/actions.ts";
import { auditAuth } from "../token/audit-auth.ts";
import { findAndDecide } from "../token/decide.ts";
import type { NewTokenIds, RowAndTail } from "../token/ids.ts";
import type { TokenSpec, TokenView } from "../token/record.ts";
import { REVOKED_MEANWHILE } from "../token/rules/revoked-meanwhile.ts";
import { REVOKED } from "../token/state.ts";
import { writeAuditLine } from "../wire/audit.ts";
import { CubbyholeStore, type CubbyholeValue } from "./cubbyhole/store.ts";
import { knownTokens, type TokenPublisher } from "./known-tokens.ts";
import { type Lineage, TreeLineage, type TreePicture } from "./lineage.ts";
import { revokeFiltered } from "./revoke-filtered.ts";
import { SingleTokenExpiry } from "./single-token-expiry.ts";
import { TreeEnd } from "./supply/tree-end.ts";
import { TreeSweep } from "./sweep/tree-sweep.ts";
import type { TidyStep, TidyStepResult } from "./tidy/step.ts";
import { nothingHere, TreeTidy } from "./tidy/tree-tidy.ts";
import { TokenWriter } from "./token-writer.ts";
import { TreeCallers } from "./tree-callers.ts";
import { TreeStore } from "./tree-store.ts";
import { TreeTargets } from "./tree-targets.ts";
import { TreeUpdates } from "./updates/tree-updates.ts";

/** Pause after a step that failed, for example because a shard did not answer. */
const SWEEP_RETRY_MS = 30_000;

/** A sweep that a caller waits for is the alarm's after this time, should the call have ended in the middle. */
const SWEEP_BY_CALLER_MS = 60_000;

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
  readonly #writer: TokenWriter;
  readonly #targets: TreeTargets;
  readonly #callers: TreeCallers;
  readonly #leases: TreeLeases;
  readonly #inventory: TreeUpdates;
  readonly #lineage: TreeLineage;
  readonly #sweep: TreeSweep;
  readonly #tidy: TreeTidy;
  readonly #publisher: TokenPublisher;
  readonly #single: SingleTokenExpiry;
  readonly #end: TreeEnd;
  readonly #alarm: EarliestAlarm;
  /** Steps of tidy runs that are under way. */
  #tidying = 0;
  /** Checks and makes seals of rows; null until the first call that reads or writes a token. */
  #rowKeys: RowKeys | null = null;
  /** As of the last call. */
  #watermarks: Watermarks = NO_WATERMARKS;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    const { storage } = ctx;
    const { sql } = storage;
    const treeId = ctx.id.toString();
    const versions = readVersions(sql);
    const arm = () => this.#arm();
    const publisher = knownTokens().publisherOf(treeId, () => storage.sync());
    const inventory = new TreeUpdates({ env, treeId, tokens: () => tokens, open: () => this.#open() });
    const tokens: TreeStore = new TreeStore(
      sql,
      treeId,
      { rowKeys: () => this.#openedRowKeys(), watermarks: () => this.#watermarks },
      inventory,
      () => publisher.changed(),
      versions,
    );
    const cubbyhole = new CubbyholeStore(sql, versions);
    const armBehindSweep = () => this.#arm(currentTime() + SWEEP_BY_CALLER_MS);
    const leases = new TreeLeases({ env, sql, versions, treeId, tokens, arm, armBehindSweep });
    const writer = new TokenWriter({ treeId, tokens, cubbyhole, inventory, arm });
    const targets = new TreeTargets({ tokens, cubbyhole, arm });
    const end = new TreeEnd({ env, storage, treeId, tokens, cubbyhole, leases, inventory });
    const watermarks = () => this.#watermarks;
    this.#store = tokens;
    this.#writer = writer;
    this.#targets = targets;
    this.#leases = leases;
    this.#inventory = inventory;
    this.#publisher = publisher;
    this.#end = end;
    this.#single = new SingleTokenExpiry(tokens, leases);
    this.#alarm = new EarliestAlarm(storage);
    this.#callers = new TreeCallers({
      treeId,
      tokens,
      cubbyhole,
      writer,
      targets,
      inventory,
      publisher,
      watermarks,
      arm,
    });
    const describe = (rows: readonly number[]) => inventory.describe(rows);
    this.#lineage = new TreeLineage({ sql, tokens, cubbyhole, describe, leases });
    this.#sweep = new TreeSweep({ env, sql, treeId, tokens, cubbyhole, inventory, leases, end });
    const endLeasesOf = (rows: readonly number[], limit: number) => leases.endSomeOf(rows, limit);
    this.#tidy = new TreeTidy({ env, sql, treeId, tokens, endLeasesOf });
    if (tokens.isCreated) {
      ctx.blockConcurrencyWhile(async () => {
        this.#refresh();
        // The rows say when an alarm that was lost is due.
        this.#single.woke(await this.#alarm.load());
        this.#arm();
      });
    }
  }

  /**
   * Starts the tree with its first token, and what it keeps from the beginning. The list of accessors is notified later, whatever
   * ends in between. A tree of which nothing is left can be started again: nothing that was issued in its previous life is good.
   *
   * @param allocatedBy the shard that handed out the id of the tree; null: none did.
   * @returns "taken", with nothing done, when something is left in the tree, or the row may have been a token's before: another id
   *   has to be allocated.
   */
  async create(
    spec: TokenSpec,
    ids: NewTokenIds,
    allocatedBy: number | null,
    cubbyhole: readonly CubbyholeValue[] = [],
  ): Promise<Result<TokenView | "taken", Failure>> {
    if (!ids.seal) await this.#open(spec.record.watermark);
    if (!this.#end.isEmpty || ids.row <= this.#store.floor) return ok("taken");
    if (isEnded(this.#watermarks, "all", spec.record)) return err(REVOKED_MEANWHILE);
    this.#end.taken();
    this.#single.created(allocatedBy);
    this.#store.begin();
    return ok(this.#writer.first(spec, ids, cubbyhole, allocatedBy) ?? "taken");
  }

  /** Ends a tree whose first token, the one in this row, no client will ever have. Safe to repeat. */
  async abandon(row: number): Promise<void> {
    if (!this.#store.isCreated || !this.#store.exists(row)) return;
    this.#store.revoke(row, REVOKED);
    this.#arm(currentTime() + SWEEP_BY_CALLER_MS);
    await this.#sweep.run();
    await this.#settle();
  }

  /**
   * Answers the shard that handed out the id of this tree and was not notified of its first token. The token is listed then.
   *
   * @returns true when the tree can be handed out again.
   */
  async report(): Promise<boolean> {
    this.#single.askedWhile(this.#end.isEmpty);
    if (this.#end.isEmpty) return this.#end.isFree;
    await this.#listFirst();
    this.#arm();
    return false;
  }

  /**
   * Ends the only token of the tree when its time is over, for the shard that has it on its list and takes it off with the answer: no
   * other call is needed. Safe to repeat: an answer that was lost is given again.
   */
  async endSingleToken(row: number): Promise<SingleTokenEnd> {
    await this.#open();
    if (!this.#store.isCreated) return { kind: "gone", isFree: this.#end.isFree };
    if (this.#store.live(row, currentTime())) {
      const [entry] = this.#inventory.describe([row]);
      if (entry) return { kind: "alive", entry };
    }
    const isSwept = this.#store.hasOnly([row]) && (await this.#sweep.stepFor(row));
    if (!isSwept && this.#store.isCreated && this.#store.exists(row)) {
      // Others are left in the tree, or the token ends in another way than by its time.
      this.#single.listed(false);
      this.#arm();
      return { kind: "ending" };
    }
    return { kind: "gone", isFree: await this.#end.offersByAnswer(() => this.#settle()) };
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
    const source = {
      find: (now: number) => this.#callers.find(call, now),
      loadEntity: (id: string) => loadActiveEntity(this.env, id),
    };
    const answer = await findAndDecide(installation, call, source, (decided) => {
      const { caller } = decided.found;
      // Only the tree knows the token, and the line is to be written before anything is done.
      if (call.line) writeAuditLine({ ...call.line, auth: auditAuth(caller, caller.accessor, "service") });
      return ok(this.#callers.answer(decided, call, installation.watermarks.newest));
    });
    return answer ?? REFUSED;
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
    if (action.kind === "lookup" && action.target.by === "token") this.#callers.findLive(action.target.row, now);
    return outcome;
  }

  /**
   * Writes a token that was planned here before, now that everything outside this tree is ready for it.
   *
   * @returns "not_found" when the parent has died since.
   */
  async insert(spec: TokenSpec, ids: NewTokenIds, parent: number): Promise<Result<Outcome, Failure>> {
    await this.#open(spec.record.watermark);
    if (!this.#store.isCreated || !this.#store.live(parent, currentTime())) return NOT_FOUND;
    if (isEnded(this.#watermarks, "all", spec.record)) return err(REVOKED_MEANWHILE);
    return this.#callers.insert(spec, ids, parent, []);
  }

  /** True while the token of this row is alive: what the life of a batch token depends on. */
  async isAlive(row: number): Promise<boolean> {
    await this.#open();
    return this.#callers.findLive(row, currentTime()) !== null;
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

  /** Accessors of a token of this tree and of its nearest ancestors. */
  async accessorsFrom(row: number): Promise<string[]> {
    await this.#open();
    return this.#store.isCreated ? this.#lineage.accessorsFrom(row) : [];
  }

  /** Revokes tokens of this tree that a filter matched, with everything below them. Safe to repeat. */
  async revokeFiltered({ sweptByCaller, ...request }: RevokeInTree): Promise<RevokedInTree> {
    await this.#open();
    const now = currentTime();
    const parts = {
      treeId: this.ctx.id.toString(),
      tokens: this.#store,
      lineage: this.#lineage,
      inventory: this.#inventory,
    };
    const revoked = revokeFiltered(parts, request, now);
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

  /** Sends all updates to the lists now: from the answer on the lists have them, unless one does not answer. */
  async publishUpdates(): Promise<void> {
    await this.#inventory.publishAll();
  }

  /** Puts all updates into the queue of this isolate, for a caller that sends it. */
  async enqueueUpdates(): Promise<void> {
    await this.#inventory.enqueueAll();
  }

  /** Performs an action on a lease of this tree. "not_found" when the lease, or its holder, is not there. */
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
   * Performs one bounded step of a tidy run here: names entries elsewhere that have no token, and repairs the tree's own
   * rows. Requests are served between the steps, and within one while it talks to the list of accessors.
   */
  async tidy(step: TidyStep): Promise<TidyStepResult> {
    await this.#open();
    if (!this.#store.isCreated) return nothingHere(step);
    this.#tidying++;
    try {
      const result = await this.#tidy.perform(step);
      // It may have made orphans, or found rows that were written without the keys.
      this.#publisher.changed();
      const now = currentTime();
      const due = this.#store.nextSweepAt(now);
      // The list may have dropped the token by now, and then no shard asks for its end.
      if (due !== null && due <= now) this.#single.listed(false);
      this.#arm();
      const { swept } = await this.#sweep.step();
      // What has expired and was not swept yet must have an alarm coming, whatever became of the last one.
      this.#refresh();
      await this.#alarm.load();
      this.#arm();
      // The alarm frees a tree that this has emptied.
      if (swept > 0 && this.#end.isEmpty) void this.#alarm.set(currentTime());
      return { ...result, repairs: { ...result.repairs, swept } };
    } finally {
      this.#tidying--;
    }
  }

  /** Sweeps what is dead, step by step, sends what has ended elsewhere, and sets itself again for the next expiry. */
  override async alarm(): Promise<void> {
    this.#alarm.rang();
    if (!this.#store.isCreated) return;
    const later = this.#sweep.putOffTo();
    if (later !== null) return this.#alarm.set(later);
    try {
      await this.#open();
      await this.#sweep.run();
      // A caller that waited for the sweep may have freed the tree.
      if (!this.#store.isCreated) return;
      await this.#leases.work();
      // A tree of one token does not know whether it is listed.
      if (this.#inventory.nextDueAt !== null) await this.#inventory.publishAll();
      else if (this.#store.isSingle) await this.#listFirst();
    } catch (error) {
      // The platform gives up after a few retries of its own; the sweep must not: dead rows cost every look-up a walk.
      console.error(JSON.stringify({ type: "sweep", error: String(error) }));
      return this.#alarm.set(currentTime() + SWEEP_RETRY_MS);
    }
    await this.#settle();
  }

  /** After a sweep: frees a tree of which nothing is left, or sets the alarm for what comes next. */
  async #settle(): Promise<void> {
    if (!this.#store.isCreated) return;
    if (this.#end.isEmpty) {
      // Calls that wait for another object come back to the tables.
      if (this.#leases.isBusy || this.#tidying > 0) return this.#alarm.set(currentTime() + SWEEP_RETRY_MS);
      await this.#end.free();
    }
    this.#refresh();
    this.#arm();
  }

  /** Has the first token listed. One that is not alive is left to the alarm: no shard asks for it. */
  async #listFirst(): Promise<void> {
    this.#single.listed(await this.#inventory.publishFirst());
  }

  /** Reads what is remembered of the rows. */
  #refresh(): void {
    this.#store.refresh();
    this.#leases.refresh();
    this.#inventory.refresh();
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

  /**
   * Sets the alarm for what is due first: the sweep, a lease, or an update that the lists may not have.
   *
   * @param sweepFrom ms: the sweep need not come earlier.
   */
  #arm(sweepFrom = 0): void {
    if (!this.#store.isCreated) return;
    const sweep = this.#single.nextSweepAt(currentTime());
    void this.#alarm.atLatest(sweep && Math.max(sweep, sweepFrom), this.#leases.nextDueAt, this.#inventory.nextDueAt);
  }
}
