import { currentTime } from "../../base/clock.ts";
import { accessorShard, treeShardNumber } from "../../listing/accessor-shards.ts";
import type { EarliestAlarm } from "../../storage/object-alarm.ts";
import { firstRowAt } from "../../token/ids.ts";
import type { TreeParts } from "../tree-parts.ts";

/** Maximum size (bytes) of a database that a freed tree keeps for the next token. A larger one is deleted. */
const MAX_KEPT_BYTES = 262_144;
/** A row floor further in the future than this (ms) shows that the clock was wrong when it was written. */
const CLOCK_MS = 86_400_000;

/** Frees an empty tree: returns its id to a shard, or deletes its storage. */
export class TreeRelease {
  readonly #tree: TreeParts;
  readonly #alarm: EarliestAlarm;
  /** Largest size (bytes) before a sweep since the object woke. Deleting rows does not make the file smaller. */
  #greatestSize = 0;
  /** True when a shard has the id of the tree in its pool, or gets it with a call that is in flight. */
  #isOffered = false;

  constructor(tree: TreeParts, alarm: EarliestAlarm) {
    this.#tree = tree;
    this.#alarm = alarm;
  }

  /** Notes the size of the database before rows are deleted. */
  deletes(): void {
    this.#greatestSize = Math.max(this.#greatestSize, this.#tree.storage.sql.databaseSize);
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
    return (
      this.#tree.env.deployment.reusesTrees &&
      this.isEmpty &&
      this.#tree.tokens.floor < firstRowAt(currentTime() + CLOCK_MS)
    );
  }

  /** Notes that the tree gets a first token: its id has to be returned to a shard when it is freed. */
  taken(): void {
    this.#isOffered = false;
  }

  /**
   * True when these are the last tokens of a tree that is reused with its file. The call that removes them from the
   * list then also gives the id of the tree to a shard, before their rows are deleted. Until they are deleted `create`
   * returns "taken".
   */
  releasesWith(rows: readonly number[]): boolean {
    const { tokens, leases } = this.#tree;
    const keepsFile = this.#tree.env.deployment.reusesTrees && !this.isFileTooLarge;
    this.#isOffered = keepsFile && leases.store.isEmpty && tokens.hasOnly(rows);
    return this.#isOffered;
  }

  /** Runs `work`. True when the tree is free then: the answer of the call gives its id to the shard that asked. */
  async releasesByAnswer(work: () => Promise<void>): Promise<boolean> {
    this.#isOffered = true;
    await work();
    this.#isOffered = this.isEmpty;
    return this.isReusable;
  }

  /** Frees the tree, which is empty. Each login makes a tree, so without this their number would grow for ever. */
  async free(): Promise<void> {
    this.#tree.inventory.forget();
    if (!this.#tree.env.deployment.reusesTrees) return this.deleteStorage(false);
    if (this.isFileTooLarge) await this.deleteStorage(true);
    await this.giveBack();
  }

  /** Returns the id of the tree to the pool of a shard, which allocates it again, unless a shard has it already. */
  async giveBack(): Promise<void> {
    if (this.#isOffered) return;
    this.#isOffered = true;
    const { env, treeId } = this.#tree;
    await accessorShard(env, treeShardNumber(treeId)).releaseTree(treeId);
  }

  /**
   * True when the file must be emptied before the tree is allocated again. Never true for a restored tree, whose file
   * stores the id that its rows are sealed for.
   */
  get isFileTooLarge(): boolean {
    return this.#greatestSize > MAX_KEPT_BYTES && this.#tree.origin.restored === null;
  }

  /** Deletes the storage of the tree. @param keepsFloor true: new rows stay above those of deleted tokens. */
  async deleteStorage(keepsFloor: boolean): Promise<void> {
    const { storage, origin, tokens, cubbyhole, leases } = this.#tree;
    const deleted = storage.deleteAll();
    this.#alarm.clear();
    this.#greatestSize = 0;
    cubbyhole.forget();
    leases.store.forget();
    tokens.forget(keepsFloor);
    if (keepsFloor) origin.keep();
    await deleted;
  }
}
