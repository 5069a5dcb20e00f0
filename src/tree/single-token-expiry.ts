import type { TreeLeases } from "../lease/tree-leases.ts";
import type { TreeStore } from "./tree-store.ts";

/** The tree ends its only token itself when no shard has asked for it so long after its expiry (ms). */
const FORGOTTEN_MS = 86_400_000;

/**
 * The expiry of a tree with a single token. Most trees are a login, and an alarm for each would cost a row. The shard that lists the
 * token asks the tree for its end instead, so the tree needs an alarm only while no shard knows of the token.
 */
export class SingleTokenExpiry {
  readonly #tokens: TreeStore;
  readonly #leases: TreeLeases;
  /** True when a shard lists the token, or has noted that it handed out the id of the tree. */
  #isWatched = false;
  /** True when the shard that handed out the id has dropped its note, because the tree was empty when it asked. */
  #noteIsGone = false;

  constructor(tokens: TreeStore, leases: TreeLeases) {
    this.#tokens = tokens;
    this.#leases = leases;
  }

  /** The object woke. @param lostAlarm true when its alarm should have gone off before. */
  woke(lostAlarm: boolean): void {
    // A single token that no shard knows of has an alarm until one does.
    this.#isWatched = !lostAlarm && this.#tokens.isSingle;
  }

  /** The first token is about to be written. @param allocatedBy the shard that handed out the id of the tree; null: none. */
  created(allocatedBy: number | null): void {
    this.#isWatched = allocatedBy !== null && !this.#noteIsGone;
    this.#noteIsGone = false;
  }

  /** The shard that handed out the id asked for the tree and drops its note. */
  askedWhile(isEmpty: boolean): void {
    this.#noteIsGone = isEmpty;
  }

  /** The lists were notified of the token, or not (`false`). */
  listed(isListed: boolean): void {
    this.#isWatched = isListed;
  }

  /** When the tree has to sweep by itself (ms); null: not as far as is known. `now` in ms. */
  nextSweepAt(now: number): number | null {
    const due = this.#tokens.nextSweepAt(now);
    const { hasDead, isSingle } = this.#tokens;
    const isLeftToShard = this.#isWatched && !hasDead && isSingle && this.#leases.store.nextDueAt === null;
    return isLeftToShard && due !== null && due > now - FORGOTTEN_MS ? null : due;
  }
}
