import { currentTime } from "../../base/clock.ts";
import { accessorShard, treeShardNumber } from "../../listing/accessor-shards.ts";
import type { EarliestAlarm } from "../../storage/object-alarm.ts";
import { firstRowAt } from "../../token/ids.ts";
import { releaseSteps } from "../lifecycle.ts";
import type { TreeParts } from "../tree-parts.ts";

/** Maximum size (bytes) of a database that an empty tree keeps for the next token. A larger one is emptied. */
const MAX_KEPT_BYTES = 262_144;
/** A row floor further in the future than this shows that the clock was wrong when it was written. */
const MAX_CLOCK_ERROR_MS = 86_400_000;

/** Releases an empty tree: returns its id to a shard, or deletes its storage. `lifecycle.ts` decides. */
export class TreeRelease {
  readonly #tree: TreeParts;
  readonly #alarm: EarliestAlarm;
  /** Largest size (bytes) before a sweep since the object woke. Deleting rows does not make the file smaller. */
  #greatestSize = 0;
  /** Number of calls that use the tables again after they have waited for another object. */
  #users = 0;

  constructor(tree: TreeParts, alarm: EarliestAlarm) {
    this.#tree = tree;
    this.#alarm = alarm;
  }

  /** Notes the size of the database before rows are deleted. */
  noteSize(): void {
    this.#greatestSize = Math.max(this.#greatestSize, this.#tree.storage.sql.databaseSize);
  }

  /** Does work that waits for another object and then uses the tables again. The tree is not released meanwhile. */
  async keepingTables<T>(work: () => Promise<T>): Promise<T> {
    this.#users++;
    try {
      return await work();
    } finally {
      this.#users--;
    }
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
  get isReusable(): boolean {
    const { env, tokens } = this.#tree;
    return env.deployment.reusesTrees && this.isEmpty && tokens.floor < firstRowAt(currentTime() + MAX_CLOCK_ERROR_MS);
  }

  /**
   * True when these are the last tokens of a tree that is reused with its file. The call that removes them from the
   * list then also gives the id of the tree to a shard, before their rows are deleted. Until they are deleted `create`
   * returns "taken".
   */
  releasesWith(rows: readonly number[]): boolean {
    const { env, tokens, leases, life } = this.#tree;
    const keepsFile = env.deployment.reusesTrees && !this.#isFileTooLarge;
    const areLast = keepsFile && leases.store.isEmpty && tokens.hasOnly(rows);
    life.happened({ kind: "delisted", areLast });
    return areLast;
  }

  /** Releases an empty tree, or the number of trees would grow with every login. False while it is in use. */
  async release(): Promise<boolean> {
    if (this.#users > 0) return false;
    const { env, inventory, life } = this.#tree;
    const { reusesTrees } = env.deployment;
    inventory.forget();
    const steps = releaseSteps(life.now, reusesTrees, this.#isFileTooLarge);
    life.happened({ kind: "released", isReused: reusesTrees });
    if (steps.returnsId) await this.#returnId();
    // The tree may have a new token by now: then its next release empties the file.
    if (steps.deletesStorage && this.isEmpty && this.#users === 0) await this.#deleteStorage(reusesTrees);
    return true;
  }

  /** Returns the id of the tree to the pool of a shard, which allocates it again. */
  async #returnId(): Promise<void> {
    const { env, life, treeId } = this.#tree;
    try {
      await accessorShard(env, treeShardNumber(treeId)).releaseTree(treeId);
    } catch (error) {
      life.happened({ kind: "not returned" });
      throw error;
    }
  }

  /** Never true for a restored tree, whose file stores the id that its rows are sealed for. */
  get #isFileTooLarge(): boolean {
    return this.#greatestSize > MAX_KEPT_BYTES && this.#tree.origin.restored === null;
  }

  /** Deletes the storage of the tree. @param keepsFloor true: new rows stay above those of deleted tokens. */
  async #deleteStorage(keepsFloor: boolean): Promise<void> {
    const { storage, origin, tokens, carriedOut, cubbyhole, leases } = this.#tree;
    const deleted = storage.deleteAll();
    this.#alarm.clear();
    this.#greatestSize = 0;
    carriedOut.forget();
    cubbyhole.forget();
    leases.store.forget();
    tokens.forget(keepsFloor);
    if (keepsFloor) origin.keep();
    await deleted;
  }
}
