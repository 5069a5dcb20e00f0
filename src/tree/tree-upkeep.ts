import { currentTime } from "../base/clock.ts";
import type { SingleTokenEnd } from "../listing/expiry/single-token-walk.ts";
import type { InventoryEntry } from "../listing/inventory/entry.ts";
import type { EarliestAlarm } from "../storage/object-alarm.ts";
import { REVOKED } from "../token/state.ts";
import type { SharedParts } from "./shared-parts.ts";
import type { SingleTokenExpiry } from "./single-token-expiry.ts";
import type { TreeEnd } from "./supply/tree-end.ts";
import type { TreeSweep } from "./sweep/tree-sweep.ts";
import type { TidyStep, TidyStepResult } from "./tidy/step.ts";
import type { TreeTidy } from "./tidy/tree-tidy.ts";

/** Pause after a step that failed, for example because a shard did not answer. */
const SWEEP_RETRY_MS = 30_000;

/** A sweep that a caller waits for is the alarm's after this time, should the call have ended in the middle. */
const SWEEP_BY_CALLER_MS = 60_000;

/** The parts of a tree that its upkeep works with. */
interface UpkeepDeps extends SharedParts {
  readonly single: SingleTokenExpiry;
  readonly end: TreeEnd;
  readonly sweep: TreeSweep;
  readonly tidy: TreeTidy;
  readonly alarm: EarliestAlarm;
}

/** What a tree does by itself: it sweeps what is dead, sends what is due, frees itself when it is empty, and sets its alarm. */
export class TreeUpkeep {
  readonly #tree: UpkeepDeps;
  /** Steps of tidy runs that are under way. */
  #tidying = 0;

  constructor(tree: UpkeepDeps) {
    this.#tree = tree;
  }

  /** The object woke with tokens: its rows say when an alarm that was lost is due. */
  async wake(): Promise<void> {
    this.#refresh();
    this.#tree.single.woke(await this.#tree.alarm.load());
    this.arm();
  }

  /**
   * The tree was restored, and no list has its tokens: they are published again.
   *
   * @returns the entry of the only token of a tree, for a caller that has it listed; null where the alarm does.
   */
  async restored(): Promise<InventoryEntry | null> {
    if (!this.#tree.tokens.isCreated) return null;
    this.#tree.tokens.listing.listAgain();
    await this.wake();
    if (!this.#tree.tokens.isSingle) this.#tree.inventory.sizeIsWanted();
    const only = this.#tree.tokens.isSingle ? this.#tree.tokens.oldest() : null;
    const [entry = null] = this.#tree.inventory.describe(only === null ? [] : [only]);
    this.#tree.single.listed(entry !== null);
    this.arm();
    return entry;
  }

  /** Ends a tree whose first token, the one in this row, no client will ever have. Safe to repeat. */
  async abandon(row: number): Promise<void> {
    if (!this.#tree.tokens.exists(row)) return;
    this.#tree.tokens.revoke(row, REVOKED, "never issued");
    this.armBehindSweep();
    await this.#tree.sweep.run();
    await this.#settle();
  }

  /**
   * Answers the shard that handed out the id of this tree and was not notified of its first token. The token is listed then.
   *
   * @returns true when the tree can be handed out again.
   */
  async report(): Promise<boolean> {
    this.#tree.single.askedWhile(this.#tree.end.isEmpty);
    if (this.#tree.end.isEmpty) return this.#tree.end.isFree;
    await this.#listFirst();
    this.arm();
    return false;
  }

  /**
   * Ends the only token of the tree when its time is over, for the shard that has it on its list and takes it off with the answer: no
   * other call is needed. Safe to repeat: an answer that was lost is given again.
   */
  async endSingleToken(row: number): Promise<SingleTokenEnd> {
    if (!this.#tree.tokens.isCreated) return { kind: "gone", isFree: this.#tree.end.isFree, end: null };
    if (this.#tree.tokens.live(row, currentTime())) {
      const [entry] = this.#tree.inventory.describe([row]);
      if (entry) return { kind: "alive", entry };
    }
    const end = this.#tree.tokens.hasOnly([row]) ? await this.#tree.sweep.stepFor(row) : null;
    if (!end && this.#tree.tokens.exists(row)) {
      // Others are left in the tree, or the token ends in another way than by its time.
      this.#tree.single.listed(false);
      this.arm();
      return { kind: "ending" };
    }
    return { kind: "gone", isFree: await this.#tree.end.offersByAnswer(() => this.#settle()), end };
  }

  /**
   * Sweeps what is dead, as far as one alarm does, for a caller who waits so that not too many trees sweep at a time. Whatever goes
   * wrong, and what is left, is the alarm's.
   *
   * @returns whether nothing dead is left.
   */
  async sweep(): Promise<boolean> {
    if (!this.#tree.tokens.isCreated) return true;
    let isDone: boolean;
    try {
      await this.#tree.keys.open();
      isDone = await this.#tree.sweep.run();
    } catch (error) {
      console.error(JSON.stringify({ type: "sweep", error: String(error) }));
      return false;
    }
    await this.#settle();
    return isDone;
  }

  /**
   * Performs one bounded step of a tidy run here: names entries elsewhere that have no token, and repairs the tree's own
   * rows. Requests are served between the steps, and within one while it talks to the list of accessors.
   */
  async tidy(step: TidyStep): Promise<TidyStepResult> {
    this.#tidying++;
    try {
      const result = await this.#tree.tidy.perform(step);
      // It may have made orphans, or found rows that were written without the keys.
      this.#tree.publisher.changed();
      const now = currentTime();
      const due = this.#tree.tokens.nextSweepAt(now);
      // The list may have dropped the token by now, and then no shard asks for its end.
      if (due !== null && due <= now) this.#tree.single.listed(false);
      this.arm();
      const { swept } = await this.#tree.sweep.step();
      // What has expired and was not swept yet must have an alarm coming, whatever became of the last one.
      this.#refresh();
      await this.#tree.alarm.load();
      this.arm();
      // The alarm frees a tree that this has emptied.
      if (swept > 0 && this.#tree.end.isEmpty) void this.#tree.alarm.set(currentTime());
      return { ...result, repairs: { ...result.repairs, swept } };
    } finally {
      this.#tidying--;
    }
  }

  /** Sweeps what is dead, step by step, sends what has ended elsewhere, and sets itself again for the next expiry. */
  async alarm(): Promise<void> {
    this.#tree.alarm.rang();
    if (!this.#tree.tokens.isCreated) return;
    const later = this.#tree.sweep.putOffTo();
    if (later !== null) return this.#tree.alarm.set(later);
    try {
      await this.#tree.keys.open();
      await (this.#tree.tokens.isSingle ? this.#tree.sweep.runAtOnce() : this.#tree.sweep.run());
      // A caller that waited for the sweep may have freed the tree.
      if (!this.#tree.tokens.isCreated) return;
      await this.#tree.leases.work();
      // A tree of one token does not know whether it is listed.
      if (this.#tree.inventory.nextDueAt !== null) await this.#tree.inventory.publishAll();
      else if (this.#tree.tokens.isSingle) await this.#listFirst();
    } catch (error) {
      // The platform gives up after a few retries of its own; the sweep must not: dead rows cost every look-up a walk.
      console.error(JSON.stringify({ type: "sweep", error: String(error) }));
      return this.#tree.alarm.set(currentTime() + SWEEP_RETRY_MS);
    }
    await this.#settle();
  }

  /** After a sweep: frees a tree of which nothing is left, or sets the alarm for what comes next. */
  async #settle(): Promise<void> {
    if (!this.#tree.tokens.isCreated) return;
    if (this.#tree.end.isEmpty) {
      // Calls that wait for another object come back to the tables.
      if (this.#tree.leases.isBusy || this.#tidying > 0) return this.#tree.alarm.set(currentTime() + SWEEP_RETRY_MS);
      await this.#tree.end.free();
    }
    this.#refresh();
    this.arm();
  }

  /** Has the first token listed. One that is not alive is left to the alarm: no shard asks for it. */
  async #listFirst(): Promise<void> {
    this.#tree.single.listed(await this.#tree.inventory.publishFirst());
  }

  /** Reads what is remembered of the rows. */
  #refresh(): void {
    this.#tree.tokens.refresh();
    this.#tree.leases.store.refresh();
    this.#tree.inventory.refresh();
  }

  /**
   * Sets the alarm for what is due first: the sweep, a lease, or an update that the lists may not have.
   *
   * @param sweepFrom ms: the sweep need not come earlier.
   */
  arm(sweepFrom = 0): void {
    if (!this.#tree.tokens.isCreated) return;
    const sweep = this.#tree.single.nextSweepAt(currentTime());
    void this.#tree.alarm.atLatest(
      sweep && Math.max(sweep, sweepFrom),
      this.#tree.leases.store.nextDueAt,
      this.#tree.inventory.nextDueAt,
    );
  }

  /** The same where a caller waits for the sweep: the alarm only comes should the call end in the middle. */
  armBehindSweep(): void {
    this.arm(currentTime() + SWEEP_BY_CALLER_MS);
  }
}
