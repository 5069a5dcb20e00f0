import { currentTime } from "../base/clock.ts";
import type { SingleTokenEnd } from "../listing/expiry/single-token-walk.ts";
import type { InventoryEntry } from "../listing/inventory/entry.ts";
import { EarliestAlarm } from "../storage/object-alarm.ts";
import { REVOKED } from "../token/state.ts";
import { TreeRelease } from "./supply/tree-release.ts";
import { TreeSweep } from "./sweep/tree-sweep.ts";
import type { TidyStep, TidyStepResult } from "./tidy/step.ts";
import { TreeTidy } from "./tidy/tree-tidy.ts";
import type { TreeParts } from "./tree-parts.ts";

/** Pause after a step that failed, for example because a shard did not answer. */
const SWEEP_RETRY_MS = 30_000;
/** Delay (ms) of the alarm that takes over the sweep when a call that waits for it ends early. */
const SWEEP_BY_CALLER_MS = 60_000;
/** Time after the expiry of the only token (ms). If no shard has asked for it by then, the tree ends it by itself. */
const FORGOTTEN_MS = 86_400_000;

/**
 * Background work of a tree: sweeps dead tokens, sends what is due, frees the empty tree, and sets the alarm.
 *
 * Most trees are one login, and an alarm for each would cost a row written. Instead the shard that lists the only token
 * asks the tree to end it, so such a tree needs an alarm only while no shard knows of the token.
 */
export class TreeMaintenance {
  readonly #tree: TreeParts;
  readonly #alarm: EarliestAlarm;
  readonly end: TreeRelease;
  readonly #sweep: TreeSweep;
  readonly #tidy: TreeTidy;
  /** Number of calls that use the tables again after they have waited for another object. */
  #calls = 0;
  /** True when a shard lists the only token, or has a record that it allocated the id of the tree. */
  #isWatched = false;
  /** True when the shard that allocated the id has deleted its record, because the tree was empty when it asked. */
  #noteIsGone = false;

  constructor(tree: TreeParts) {
    this.#tree = tree;
    this.#alarm = new EarliestAlarm(tree.storage);
    this.end = new TreeRelease(tree, this.#alarm);
    this.#sweep = new TreeSweep(tree, this.end);
    this.#tidy = new TreeTidy(tree);
  }

  /** Called before the first token is written. */
  begin(allocatedBy: number | null): void {
    this.end.taken();
    this.#isWatched = allocatedBy !== null && !this.#noteIsGone;
    this.#noteIsGone = false;
  }

  /** Restores the state in memory after a wake-up with tokens, and sets a lost alarm again. */
  async wake(): Promise<void> {
    this.#refresh();
    const isLost = await this.#alarm.load();
    // While no shard knows of a single token, its tree has an alarm: only a lost one has to be set again.
    this.#isWatched = !isLost && this.#tree.tokens.isSingle;
    this.arm();
  }

  /**
   * Publishes the tokens of a restored tree again, because no list has them. Returns the entry of a tree's only token,
   * for the caller to list; null when the alarm publishes the tokens.
   */
  async restored(): Promise<InventoryEntry | null> {
    if (!this.#tree.tokens.isCreated) return null;
    this.#tree.tokens.listing.listAgain();
    await this.wake();
    if (!this.#tree.tokens.isSingle) this.#tree.inventory.sizeIsWanted();
    const only = this.#tree.tokens.isSingle ? this.#tree.tokens.oldest() : null;
    const [entry = null] = this.#tree.inventory.describe(only === null ? [] : [only]);
    this.#isWatched = entry !== null;
    this.arm();
    return entry;
  }

  /** See `TokenTree.abandon`. */
  async abandon(row: number): Promise<void> {
    if (!this.#tree.tokens.exists(row)) return;
    this.#tree.tokens.revoke(row, REVOKED, "never issued");
    this.arm({ sweptByCaller: true });
    await this.#sweep.run();
    await this.#settle();
  }

  /**
   * Answers the shard that allocated the id of this tree and has no update of its first token: publishes that token.
   * True when the tree is empty and its id can be allocated again.
   */
  async report(): Promise<boolean> {
    this.#noteIsGone = this.end.isEmpty;
    if (this.end.isEmpty) return this.end.isReusable;
    await this.#listFirst();
    this.arm();
    return false;
  }

  /**
   * Ends the only token of the tree when it has expired. The caller is the shard that lists the token; it removes the
   * token from the list with the answer, so no other call is needed. Safe to repeat after a lost answer.
   */
  async endSingleToken(row: number): Promise<SingleTokenEnd> {
    if (!this.#tree.tokens.isCreated) return { kind: "gone", isReusable: this.end.isReusable, end: null };
    if (this.#tree.tokens.live(row, currentTime())) {
      const [entry] = this.#tree.inventory.describe([row]);
      if (entry) return { kind: "alive", entry };
    }
    const end = this.#tree.tokens.hasOnly([row]) ? await this.#sweep.stepFor(row) : null;
    if (!end && this.#tree.tokens.exists(row)) {
      // Other tokens are left, or the step did not delete this one, for example because a watermark ended it.
      this.#isWatched = false;
      this.arm();
      return { kind: "ending" };
    }
    return { kind: "gone", isReusable: await this.end.releasesByAnswer(() => this.#settle()), end };
  }

  /**
   * Sweeps dead tokens, as many as one alarm would, for a caller that bounds the number of trees that sweep at a time.
   * The alarm continues after a failure, and with what is left. Returns true when no dead token is left.
   */
  async sweep(): Promise<boolean> {
    if (!this.#tree.tokens.isCreated) return true;
    let isDone: boolean;
    try {
      await this.#tree.keys.open();
      isDone = await this.#sweep.run();
    } catch (error) {
      console.error(JSON.stringify({ type: "sweep", error: String(error) }));
      return false;
    }
    await this.#settle();
    return isDone;
  }

  /**
   * Performs one bounded step of a tidy run: reports entries of other objects that have no token here, and repairs the
   * rows of the tree. Requests are served between the steps, and within a step while it waits for a shard.
   */
  tidy(step: TidyStep): Promise<TidyStepResult> {
    return this.keepingTables(async () => {
      const result = await this.#tidy.perform(step);
      // The step may have made orphans, or found rows that were written without the keys.
      this.#tree.publisher.changed();
      const now = currentTime();
      const due = this.#tree.tokens.nextSweepAt(now);
      // The list may have removed the expired token by now, and then no shard asks for its end.
      if (due !== null && due <= now) this.#isWatched = false;
      this.arm();
      const swept = await this.#sweep.step();
      // Expired tokens that are not swept yet need an alarm, even if the last one was lost.
      this.#refresh();
      await this.#alarm.load();
      this.arm();
      // If this step has emptied the tree, the alarm frees it.
      if (swept > 0 && this.end.isEmpty) void this.#alarm.set(currentTime());
      return { ...result, repairs: { ...result.repairs, swept } };
    });
  }

  /** Does work that waits for another object and then uses the tables again. The tree is not freed meanwhile. */
  async keepingTables<T>(work: () => Promise<T>): Promise<T> {
    this.#calls++;
    try {
      return await work();
    } finally {
      this.#calls--;
    }
  }

  /** Sweeps dead tokens, sends revocations of leases and updates of lists, and sets the alarm for what is due next. */
  async alarm(): Promise<void> {
    this.#alarm.clear();
    if (!this.#tree.tokens.isCreated) return;
    const later = this.#sweep.turns.putOffTo();
    if (later !== null) return this.#alarm.set(later);
    try {
      await this.#tree.keys.open();
      await this.#sweep.run({ takesTurns: !this.#tree.tokens.isSingle });
      // A caller that waited for the sweep may have freed the tree.
      if (!this.#tree.tokens.isCreated) return;
      await this.keepingTables(() => this.#tree.leases.work());
      // A tree of one token does not know whether it is listed.
      if (this.#tree.inventory.nextDueAt !== null) await this.#tree.inventory.publishAll();
      else if (this.#tree.tokens.isSingle) await this.#listFirst();
    } catch (error) {
      // The platform retries an alarm a few times only. Without the sweep every look-up reads ancestors.
      console.error(JSON.stringify({ type: "sweep", error: String(error) }));
      return this.#alarm.set(currentTime() + SWEEP_RETRY_MS);
    }
    await this.#settle();
  }

  /** After a sweep: frees the tree if it is empty, or sets the alarm for what is due next. */
  async #settle(): Promise<void> {
    if (!this.#tree.tokens.isCreated) return;
    if (this.end.isEmpty) {
      if (this.#calls > 0) return this.#alarm.set(currentTime() + SWEEP_RETRY_MS);
      await this.end.free();
    }
    this.#refresh();
    this.arm();
  }

  /** Publishes the first token. If it is not alive, the tree needs its own alarm, because no shard asks for its end. */
  async #listFirst(): Promise<void> {
    this.#isWatched = await this.#tree.inventory.publishFirst();
  }

  #refresh(): void {
    this.#tree.tokens.refresh();
    this.#tree.leases.store.refresh();
    this.#tree.inventory.refresh();
  }

  /**
   * Sets the alarm for what is due first: the sweep, a lease, or an update that the lists may not have.
   * `sweptByCaller`: a caller waits for the sweep. The alarm takes it over only if that call ends early.
   */
  arm({ sweptByCaller } = { sweptByCaller: false }): void {
    const { tokens, leases, inventory } = this.#tree;
    if (!tokens.isCreated) return;
    const now = currentTime();
    let sweep = tokens.nextSweepAt(now);
    const isLeftToShard = this.#isWatched && !tokens.hasDead && tokens.isSingle && leases.store.nextDueAt === null;
    if (isLeftToShard && sweep !== null && sweep > now - FORGOTTEN_MS) sweep = null;
    if (sweptByCaller && sweep !== null) sweep = Math.max(sweep, now + SWEEP_BY_CALLER_MS);
    void this.#alarm.atLatest(sweep, leases.store.nextDueAt, inventory.nextDueAt);
  }
}
