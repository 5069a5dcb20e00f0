import { currentTime } from "../base/clock.ts";
import { logFailedWork } from "../base/log.ts";
import type { InventoryEntry } from "../listing/inventory/entry.ts";
import type { SingleTokenEnd } from "../listing/trees/single-token-walk.ts";
import { EarliestAlarm } from "../storage/object-alarm.ts";
import { REVOKED } from "../token/end-record.ts";
import { dueAt, hasSingleToken, listingDue } from "./lifecycle.ts";
import { TreeRelease } from "./supply/tree-release.ts";
import { TreeSweep } from "./sweep/tree-sweep.ts";
import type { TidyStep, TidyStepResult } from "./tidy/tidy-step.ts";
import { TreeTidy } from "./tidy/tree-tidy.ts";
import type { TreeParts } from "./tree-parts.ts";

/** Pause after a step that failed, for example because a shard did not answer. */
const SWEEP_RETRY_MS = 30_000;

/** Background work of a tree: sweeps dead tokens, sends what is due, releases the empty tree, and sets the alarm. */
export class TreeMaintenance {
  readonly #tree: TreeParts;
  readonly #alarm: EarliestAlarm;
  readonly release: TreeRelease;
  readonly #sweep: TreeSweep;
  readonly #tidy: TreeTidy;

  constructor(tree: TreeParts) {
    this.#tree = tree;
    this.#alarm = new EarliestAlarm(tree.storage);
    this.release = new TreeRelease(tree, this.#alarm);
    this.#sweep = new TreeSweep(tree, this.release);
    this.#tidy = new TreeTidy(tree);
  }

  /** Restores the state in memory after a wake-up with tokens, and sets a lost alarm again. */
  async wake(): Promise<void> {
    this.#refresh();
    const isAlarmLost = await this.#alarm.load();
    const { inventory, life, tokens } = this.#tree;
    const { hasUnlisted } = inventory;
    const alarmAt = this.#alarm.setFor;
    const count = tokens.isSingle ? "single" : "many";
    life.happened({ kind: "woke", tokens: count, hasUnlisted, alarmAt, isAlarmLost, now: currentTime() });
    this.arm();
  }

  /**
   * Publishes the tokens of a restored tree again, because no list has them. Returns the entry of a tree's only token,
   * for the caller to list; null when the alarm publishes the tokens.
   */
  async restored(): Promise<InventoryEntry | null> {
    const { inventory, life, tokens } = this.#tree;
    if (!tokens.isCreated) return null;
    tokens.listing.listAgain();
    await this.wake();
    if (!tokens.isSingle) inventory.sizeIsWanted();
    const only = tokens.isSingle ? tokens.oldest() : null;
    const [entry = null] = inventory.describeNew(only === null ? [] : [only]);
    life.happened({ kind: "first token listed", isAlive: entry !== null });
    this.arm();
    return entry;
  }

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
    if (this.release.isEmpty) {
      const { isReusable } = this.release;
      this.#tree.life.happened({ kind: "asked while empty", isReusable });
      return isReusable;
    }
    await this.#listFirst();
    this.arm();
    return false;
  }

  /**
   * Ends the only token of the tree when it has expired. The caller is the shard that lists the token; it removes the
   * token from the list with the answer, so no other call is needed. Safe to repeat after a lost answer.
   */
  async endSingleToken(row: number): Promise<SingleTokenEnd> {
    if (!this.#tree.tokens.isCreated) return { kind: "gone", isReusable: this.release.isReusable, end: null };
    if (this.#tree.tokens.live(row, currentTime())) {
      const [entry] = this.#tree.inventory.describe([row]);
      if (entry) return { kind: "alive", entry };
    }
    const end = this.#tree.tokens.hasOnly([row]) ? await this.#sweep.stepFor(row) : null;
    if (!end && this.#tree.tokens.exists(row)) {
      // Other tokens are left, or the step did not delete this one, for example because a watermark ended it.
      this.#tree.life.happened({ kind: "end is due" });
      this.arm();
      return { kind: "ending" };
    }
    // The answer gives the id to the pool of the shard that asked.
    this.#tree.life.happened({ kind: "delisted", areLast: this.release.isEmpty });
    await this.#settle();
    return { kind: "gone", isReusable: this.release.isReusable, end };
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
      logFailedWork("sweep", error);
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
    return this.release.keepingTables(async () => {
      const result = await this.#tidy.perform(step);
      // The step may have made orphans, or found rows that were written without the keys.
      this.#tree.publisher.changed();
      const now = currentTime();
      const due = this.#tree.tokens.liveness.nextSweepAt(now);
      // The list may have removed the expired token by now, and then no shard asks for its end.
      if (due !== null && due <= now) this.#tree.life.happened({ kind: "end is due" });
      this.arm();
      const swept = await this.#sweep.step();
      // Expired tokens that are not swept yet need an alarm, even if the last one was lost.
      this.#refresh();
      await this.#alarm.load();
      this.arm();
      // If this step has emptied the tree, the alarm releases it.
      if (swept > 0 && this.release.isEmpty) void this.#alarm.set(currentTime());
      return { ...result, repairs: { ...result.repairs, swept } };
    });
  }

  /** Sweeps dead tokens, sends revocations of leases and updates of lists, and sets the alarm for what is due next. */
  async alarm(): Promise<void> {
    this.#alarm.clear();
    if (!this.#tree.tokens.isCreated) return;
    const later = this.#sweep.turns.putOffTo();
    if (later !== null) return this.#alarm.set(later);
    const { inventory, keys, leases, life, tokens } = this.#tree;
    try {
      await keys.open();
      await this.#sweep.run({ takesTurns: !hasSingleToken(life.now) });
      // A caller that waited for the sweep may have released the tree.
      if (!tokens.isCreated) return;
      await this.release.keepingTables(() => leases.work());
      const listing = listingDue(life.now, inventory.hasUnlisted);
      if (listing === "updates") await inventory.publishAll();
      if (listing === "first token") await this.#listFirst();
      await this.#settle();
    } catch (error) {
      // The platform retries an alarm a few times only. Without the sweep every look-up reads ancestors.
      logFailedWork("sweep", error);
      await this.#alarm.set(currentTime() + SWEEP_RETRY_MS);
    }
  }

  /** After a sweep: releases the tree if it is empty, and sets the alarm for what is due next. */
  async #settle(): Promise<void> {
    if (!this.#tree.tokens.isCreated) return;
    if (this.release.isEmpty && !(await this.release.release())) return this.#alarm.set(currentTime() + SWEEP_RETRY_MS);
    this.#refresh();
    this.arm();
  }

  async #listFirst(): Promise<void> {
    const isAlive = await this.#tree.inventory.publishFirst();
    this.#tree.life.happened({ kind: "first token listed", isAlive });
  }

  #refresh(): void {
    this.#tree.tokens.liveness.refresh();
    this.#tree.leases.store.refresh();
    this.#tree.inventory.resume();
  }

  /**
   * Sets the alarm for what is due first: the sweep, a lease, or an update that the lists may not have.
   * `sweptByCaller`: a caller waits for the sweep. The alarm takes it over only if that call ends early.
   */
  arm({ sweptByCaller } = { sweptByCaller: false }): void {
    const { tokens, leases, life } = this.#tree;
    if (!tokens.isCreated) return;
    const now = currentTime();
    const work = {
      sweepAt: tokens.liveness.nextSweepAt(now),
      hasDead: tokens.liveness.hasDead,
      leaseAt: leases.store.nextDueAt,
    };
    void this.#alarm.atLatest(dueAt(life.now, { ...work, sweptByCaller }, now));
  }
}
