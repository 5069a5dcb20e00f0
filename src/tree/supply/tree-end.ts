import { currentTime } from "../../base/clock.ts";
import { accessorShard } from "../../listing/accessor-shard.ts";
import { treeShardNumber } from "../../listing/accessor-shard-number.ts";
import type { EarliestAlarm } from "../../storage/object-alarm.ts";
import type { Origin } from "../../storage/origin.ts";
import { firstRowAt } from "../../token/ids.ts";
import type { SharedParts } from "../shared-parts.ts";

/** Maximum size (bytes) of a database that a freed tree keeps for the next token. A larger one is deleted. */
const MAX_KEPT_BYTES = 262_144;
/** A row floor further in the future than this (ms) shows that the clock was wrong when it was written. */
const CLOCK_MS = 86_400_000;

/** True when the ids of empty trees are allocated again. */
let isReusing = false;

/** True when this deployment allocates the ids of empty trees again. */
export function reusesTrees(): boolean {
  return isReusing;
}

/**
 * Chooses what this deployment does with empty trees. On the network they are deleted: an object without storage costs
 * nothing there, and a new tree is near its client. In one process they are reused: a freed tree keeps its file, and its
 * id goes to the pool of a shard. The next login neither makes a file nor waits for the disk as a new object does, and
 * the number of files stays bounded.
 */
export function reuseTrees(chosen: boolean): void {
  isReusing = chosen;
}

/** Frees an empty tree: returns its id to a shard, or deletes its storage. */
export class TreeEnd {
  readonly #tree: SharedParts;
  readonly #storage: DurableObjectStorage;
  readonly #origin: Origin;
  readonly #alarm: EarliestAlarm;
  /** Largest size (bytes) before a sweep since the object woke. Deleting rows does not make the file smaller. */
  #greatestSize = 0;
  /** True when a shard has the id of the tree in its pool, or gets it with a call that is in flight. */
  #isOffered = false;

  constructor(tree: SharedParts, storage: DurableObjectStorage, origin: Origin, alarm: EarliestAlarm) {
    this.#tree = tree;
    this.#storage = storage;
    this.#origin = origin;
    this.#alarm = alarm;
  }

  /** Notes the size of the database before rows are deleted. */
  deletes(): void {
    this.#greatestSize = Math.max(this.#greatestSize, this.#tree.sql.databaseSize);
  }

  /** True when nothing is in the tree: no token, no value, no lease whose end a target has to be notified of. */
  get isEmpty(): boolean {
    const { tokens, cubbyhole, leases } = this.#tree;
    return tokens.isEmpty && cubbyhole.isEmpty && leases.store.isEmpty;
  }

  /**
   * True when the tree is empty and its id can be allocated again. Not when a wrong clock has put the row floor far
   * into the future: every creation would be refused.
   */
  get isFree(): boolean {
    return isReusing && this.isEmpty && this.#tree.tokens.floor < firstRowAt(currentTime() + CLOCK_MS);
  }

  /** Notes that the tree gets a first token: its id has to be returned to a shard when it is freed. */
  taken(): void {
    this.#isOffered = false;
  }

  /**
   * True when these are the last tokens of a tree that is reused. The call that removes them from the list then also
   * gives the id of the tree to a shard, before their rows are deleted. Until they are deleted `create` returns
   * "taken".
   */
  offersWith(rows: readonly number[]): boolean {
    const { tokens, leases } = this.#tree;
    this.#isOffered = isReusing && !this.#isFileTooLarge && leases.store.isEmpty && tokens.hasOnly(rows);
    return this.#isOffered;
  }

  /** Runs `work`. True when the tree is free then: the answer of the call gives its id to the shard that asked. */
  async offersByAnswer(work: () => Promise<void>): Promise<boolean> {
    this.#isOffered = true;
    await work();
    this.#isOffered = this.isEmpty;
    return this.isFree;
  }

  /** Frees the tree, which is empty. Each login makes a tree, so without this their number would grow for ever. */
  async free(): Promise<void> {
    this.#tree.inventory.forget();
    if (!isReusing || this.#isFileTooLarge) await this.#deleteStorage();
    if (!isReusing || this.#isOffered) return;
    this.#isOffered = true;
    const { env, treeId } = this.#tree;
    await accessorShard(env, treeShardNumber(treeId)).releaseTree(treeId);
  }

  /**
   * True when the file must be emptied before the tree is allocated again. Never for a restored tree, whose file stores
   * the id that its rows are sealed for.
   */
  get #isFileTooLarge(): boolean {
    return this.#greatestSize > MAX_KEPT_BYTES && this.#origin.restored === null;
  }

  /** Deletes the storage of the tree. In a tree that is reused, new rows stay above those of deleted tokens. */
  async #deleteStorage(): Promise<void> {
    const { tokens, cubbyhole, leases } = this.#tree;
    const deleted = this.#storage.deleteAll();
    this.#alarm.clear();
    this.#greatestSize = 0;
    cubbyhole.forget();
    leases.store.forget();
    tokens.forget(isReusing);
    if (isReusing) this.#origin.keep();
    await deleted;
  }
}
