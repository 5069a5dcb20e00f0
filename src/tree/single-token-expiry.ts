import type { TreeLeases } from "../lease/tree-leases.ts";
import type { TreeStore } from "./tree-store.ts";

/** Time after the expiry of the only token (ms). If no shard has asked for it by then, the tree ends it by itself. */
const FORGOTTEN_MS = 86_400_000;

/**
 * The expiry of a tree with a single token. Most trees are one login, and an alarm for each would cost a row written.
 * Instead the shard that lists the token asks the tree to end it, so the tree needs an alarm only while no shard knows
 * of the token.
 */
export class SingleTokenExpiry {
  readonly #tokens: TreeStore;
  readonly #leases: TreeLeases;
  /** True when a shard lists the token, or has a record that it allocated the id of the tree. */
  #isWatched = false;
  /** True when the shard that allocated the id has deleted its record, because the tree was empty when it asked. */
  #noteIsGone = false;

  constructor(tokens: TreeStore, leases: TreeLeases) {
    this.#tokens = tokens;
    this.#leases = leases;
  }

  /** Restores the state after a wake-up. @param lostAlarm true when the alarm of the object was lost. */
  woke(lostAlarm: boolean): void {
    // While no shard knows of a single token, its tree has an alarm: only a lost one has to be set again.
    this.#isWatched = !lostAlarm && this.#tokens.isSingle;
  }

  /** Called before the first token is written. @param allocatedBy shard that allocated the tree's id; null: none. */
  created(allocatedBy: number | null): void {
    this.#isWatched = allocatedBy !== null && !this.#noteIsGone;
    this.#noteIsGone = false;
  }

  /** Called when the shard that allocated the id asks about the tree. The shard deletes its record then. */
  askedWhile(isEmpty: boolean): void {
    this.#noteIsGone = isEmpty;
  }

  /** Notes whether a shard lists the token now. */
  listed(isListed: boolean): void {
    this.#isWatched = isListed;
  }

  /** When the tree needs an alarm for the sweep (ms); null: it needs none. `now` in ms. */
  nextSweepAt(now: number): number | null {
    const due = this.#tokens.nextSweepAt(now);
    const { hasDead, isSingle } = this.#tokens;
    const isLeftToShard = this.#isWatched && !hasDead && isSingle && this.#leases.store.nextDueAt === null;
    return isLeftToShard && due !== null && due > now - FORGOTTEN_MS ? null : due;
  }
}
