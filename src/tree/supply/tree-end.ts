import { currentTime } from "../../base/clock.ts";
import { accessorShard } from "../../listing/accessor-shard.ts";
import { treeShardNumber } from "../../listing/accessor-shard-number.ts";
import type { EarliestAlarm } from "../../storage/object-alarm.ts";
import type { Origin } from "../../storage/origin.ts";
import { firstRowAt } from "../../token/ids.ts";
import type { SharedParts } from "../shared-parts.ts";

/** A freed tree whose database was larger than this (bytes) loses it; a smaller one is kept for the next token. */
const MAX_KEPT_BYTES = 262_144;
/** A clock that is set back by more than this (ms) was wrong before. */
const CLOCK_MS = 86_400_000;

/** The end of a tree: its id goes back to a shard, or its storage is deleted. */
export class TreeEnd {
  readonly #tree: SharedParts;
  readonly #storage: DurableObjectStorage;
  readonly #origin: Origin;
  readonly #alarm: EarliestAlarm;
  /** Bytes: the most that were in use before a sweep, since the object woke. What is deleted makes the file no smaller. */
  #greatestSize = 0;
  /** True when the id of the tree was given to a shard. */
  #isOffered = false;

  constructor(tree: SharedParts, storage: DurableObjectStorage, origin: Origin, alarm: EarliestAlarm) {
    this.#tree = tree;
    this.#storage = storage;
    this.#origin = origin;
    this.#alarm = alarm;
  }

  /** True when the file shall become smaller before the tree is taken again. That of a restored tree has the id that its rows are sealed for. */
  get isFileTooLarge(): boolean {
    return this.#greatestSize > MAX_KEPT_BYTES && this.#origin.restored === null;
  }

  /** Rows are about to be deleted. */
  deletes(): void {
    this.#greatestSize = Math.max(this.#greatestSize, this.#tree.sql.databaseSize);
  }

  /** True when nothing is in the tree: no token, no value, no lease whose end a target has to be notified of. */
  get isEmpty(): boolean {
    const { tokens, cubbyhole, leases } = this.#tree;
    return tokens.isEmpty && cubbyhole.isEmpty && leases.store.isEmpty;
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
    this.#isOffered = treeReuse().keepsFile(this) && leases.store.isEmpty && tokens.hasOnly(rows);
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

  /** Deletes the storage of the tree. @param keepsFloor true when row numbers go on above those of the deleted tokens. */
  async deleteStorage(keepsFloor: boolean): Promise<void> {
    const { tokens, cubbyhole, leases } = this.#tree;
    const deleted = this.#storage.deleteAll();
    this.#alarm.forget();
    this.#greatestSize = 0;
    cubbyhole.forget();
    leases.store.forget();
    tokens.forget(keepsFloor);
    if (keepsFloor) this.#origin.keep();
    await deleted;
  }

  /** Gives the id of the tree to a shard, which hands it out again, unless one has it. */
  async giveBack(): Promise<void> {
    if (this.#isOffered) return;
    this.#isOffered = true;
    const { env, treeId } = this.#tree;
    await accessorShard(env, treeShardNumber(treeId)).releaseTree(treeId);
  }
}

/** What becomes of trees of which nothing is left. */
export interface TreeReuse {
  /** True when the id of an empty tree is handed out again. */
  readonly reuses: boolean;
  /** True when a tree is handed out again with its file: its id can be offered before its last rows are deleted. */
  keepsFile(tree: TreeEnd): boolean;
  free(tree: TreeEnd): Promise<void>;
}

/** An object without storage costs nothing on the network, and the next tree is made near the client that asks for it. */
export const DELETED_TREES: TreeReuse = {
  reuses: false,
  keepsFile: () => false,
  free: (tree) => tree.deleteStorage(false),
};

/**
 * In one process a freed tree keeps its file and its id goes to the pool of a shard: the next login neither makes a file nor waits
 * for the disk as a new object does, and the number of files stays bounded.
 */
export const REUSED_TREES: TreeReuse = {
  reuses: true,
  keepsFile: (tree) => !tree.isFileTooLarge,
  async free(tree) {
    if (!this.keepsFile(tree)) await tree.deleteStorage(true);
    await tree.giveBack();
  },
};

let current = DELETED_TREES;

/** What becomes of empty trees in this deployment. */
export function treeReuse(): TreeReuse {
  return current;
}

/** Chooses what becomes of empty trees in this deployment. */
export function useTreeReuse(chosen: TreeReuse): void {
  current = chosen;
}
