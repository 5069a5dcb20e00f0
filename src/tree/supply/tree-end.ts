import { currentTime } from "../../base/clock.ts";
import type { TreeLeases } from "../../lease/tree-leases.ts";
import { accessorShard } from "../../listing/accessor-shard.ts";
import type { Origin } from "../../storage/origin.ts";
import { firstRowAt } from "../../token/ids.ts";
import type { CubbyholeStore } from "../cubbyhole/store.ts";
import type { TreeEnv } from "../env.ts";
import type { TreeStore } from "../tree-store.ts";
import type { TreeUpdates } from "../updates/tree-updates.ts";
import { type EmptyTree, treeReuse } from "./tree-reuse.ts";

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
export class TreeEnd implements EmptyTree {
  readonly #tree: TreeEndDeps;
  /** True when the id of the tree was given to a shard. */
  #isOffered = false;

  constructor(tree: TreeEndDeps) {
    this.#tree = tree;
  }

  get treeId(): string {
    return this.#tree.treeId;
  }

  get databaseSize(): number {
    return this.#tree.storage.sql.databaseSize;
  }

  get isOffered(): boolean {
    return this.#isOffered;
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
    return treeReuse().reuses && this.isEmpty && this.isUsable;
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
    this.#isOffered = treeReuse().keepsFile(this.databaseSize) && leases.isEmpty && tokens.hasOnly(rows);
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
    await treeReuse().free(this);
  }

  async deleteStorage(keepsFloor: boolean): Promise<void> {
    const { storage, origin, tokens, cubbyhole, leases } = this.#tree;
    const deleted = storage.deleteAll();
    cubbyhole.forget();
    leases.forget();
    tokens.forget(keepsFloor);
    if (keepsFloor) origin.keep();
    await deleted;
  }

  async giveTo(shard: number): Promise<void> {
    this.#isOffered = true;
    await accessorShard(this.#tree.env, shard).releaseTree(this.#tree.treeId);
  }
}
