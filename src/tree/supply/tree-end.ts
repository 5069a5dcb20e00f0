import { currentTime } from "../../base/clock.ts";
import type { TreeLeases } from "../../lease/tree-leases.ts";
import { accessorShard, treeShardNumber } from "../../listing/accessor-shard.ts";
import type { Origin } from "../../storage/origin.ts";
import { firstRowAt } from "../../token/ids.ts";
import type { CubbyholeStore } from "../cubbyhole/store.ts";
import type { TreeEnv } from "../env.ts";
import type { TreeStore } from "../tree-store.ts";
import type { TreeUpdates } from "../updates/tree-updates.ts";
import { reusesTrees } from "./tree-reuse.ts";

/** A freed tree with a larger database than this (bytes) loses it; a smaller one is kept for the next token. */
const MAX_KEPT_BYTES = 262_144;
/** A clock that is set back by more than this (ms) was wrong before. */
const CLOCK_MS = 86_400_000;

/** What the end of a tree needs of the tree around it. */
interface TreeEndDeps {
  readonly env: TreeEnv;
  readonly storage: DurableObjectStorage;
  readonly origin: Origin;
  readonly treeId: string;
  readonly tokens: TreeStore;
  readonly cubbyhole: CubbyholeStore;
  readonly leases: TreeLeases;
  readonly inventory: TreeUpdates;
}

/** The end of a tree: its id goes back to a shard, or its storage is deleted. */
export class TreeEnd {
  readonly #tree: TreeEndDeps;
  /** True when the id of the tree was given to a shard. */
  #isOffered = false;

  constructor(tree: TreeEndDeps) {
    this.#tree = tree;
  }

  /** True when nothing is in the tree: no token, no value, no lease whose end a target has to be notified of. */
  get isEmpty(): boolean {
    const { tokens, cubbyhole, leases } = this.#tree;
    return !tokens.isCreated || (tokens.isEmpty && cubbyhole.isEmpty && leases.isEmpty);
  }

  /** False when the tree was freed in the far future, by a clock that was wrong then: every creation would find its row taken. */
  get isUsable(): boolean {
    return this.#tree.tokens.floor < firstRowAt(currentTime() + CLOCK_MS);
  }

  /** True when the tree is empty and its id can be handed out again. */
  get isFree(): boolean {
    return reusesTrees() && this.isEmpty && this.isUsable;
  }

  /** The tree starts with a first token. */
  taken(): void {
    this.#isOffered = false;
  }

  /**
   * True when these are the last tokens of a tree that is reused: its id then goes to a shard with the call that takes them off
   * the list, before their rows are deleted. Until then `create` returns "taken".
   */
  offersWith(rows: readonly number[]): boolean {
    const { tokens, leases } = this.#tree;
    this.#isOffered = this.#keepsFile && leases.isEmpty && tokens.hasOnly(rows);
    return this.#isOffered;
  }

  /** The answer of a call gives the id to the shard that asked, if the tree is empty after `work`. Returns whether it does. */
  async offersByAnswer(work: () => Promise<void>): Promise<boolean> {
    this.#isOffered = true;
    await work();
    this.#isOffered = this.isEmpty;
    return this.isFree;
  }

  /** Frees the tree, which is empty. Each login makes a tree: without this, their number grew for ever. */
  async free(): Promise<void> {
    this.#tree.inventory.forget();
    if (!this.#keepsFile) await this.#deleteStorage(reusesTrees());
    if (reusesTrees() && !this.#isOffered) await this.#offer();
  }

  /** True when the tree is handed out again with its file: its id can be offered before its last rows are deleted. */
  get #keepsFile(): boolean {
    return reusesTrees() && this.#tree.storage.sql.databaseSize <= MAX_KEPT_BYTES;
  }

  /** @param keepsFloor true when row numbers go on above those of the deleted tokens. */
  async #deleteStorage(keepsFloor: boolean): Promise<void> {
    const { storage, origin, tokens, cubbyhole, leases } = this.#tree;
    const deleted = storage.deleteAll();
    cubbyhole.forget();
    leases.forget();
    tokens.forget(keepsFloor);
    if (keepsFloor) origin.keep();
    await deleted;
  }

  /** Gives the id to a shard, which hands it out again. */
  async #offer(): Promise<void> {
    const { env, treeId } = this.#tree;
    this.#isOffered = true;
    await accessorShard(env, treeShardNumber(treeId)).releaseTree(treeId);
  }
}
