import { currentTime } from "../../base/clock.ts";
import { isolates } from "../../base/isolates.ts";
import { inGroups } from "../../base/parallel.ts";
import type { StartedTree } from "../updates/shard-updates.ts";
import { noteFreed } from "./freed-trees.ts";
import type { Batch, TreePool } from "./tree-pool.ts";

/** So long after an id was allocated (ms) its tree is asked, unless its first token is listed. */
const ASK_AFTER_MS = 60_000;
/** Pause between two alarms that ask trees (ms). */
const ASK_PAUSE_MS = 1000;
/** Trees that one alarm asks. */
const ASK_STEP = 60;

/** What allocation needs of the shard around it. */
interface AllocatedTreesDeps {
  readonly pool: TreePool;
  readonly shardNumber: () => number;
  readonly newTreeId: () => string;
  /** Asks a tree whether it was ever used; its token is listed then. True when the tree can be allocated again. */
  readonly ask: (treeId: string) => Promise<boolean>;
}

/** Allocates ids for new trees, and asks the trees whose first token is not listed in time: no token is lost with the isolate that made it. */
export class AllocatedTrees {
  readonly #shard: AllocatedTreesDeps;
  /** When trees are asked next (ms); null: none waits. Their rows are not read before. */
  #askAt: number | null = null;

  constructor(shard: AllocatedTreesDeps) {
    this.#shard = shard;
  }

  /** When the alarm has work here (ms), or null. */
  get nextDueAt(): number | null {
    return this.#askAt;
  }

  /** Reads what is remembered. Needed after a wake-up. */
  refresh(): void {
    const { oldest } = this.#shard.pool;
    this.#askAt = oldest === null ? null : Math.max(currentTime() + ASK_PAUSE_MS, oldest + ASK_AFTER_MS);
  }

  /** Allocates ids: those of freed trees while there are any, fewer than `count` if need be. */
  allocate(count: number): string[] {
    const { pool, newTreeId } = this.#shard;
    const freed = pool.take(count);
    const trees = freed.length > 0 ? freed : Array.from({ length: count }, newTreeId);
    const now = currentTime();
    pool.allocated(trees, now);
    this.#askAt ??= now + ASK_AFTER_MS;
    return trees;
  }

  /** Ids that were handed out, and whose first token is not known to be listed. */
  allocated(): string[] {
    const batches = this.#shard.pool.batches(Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
    return batches.flatMap(({ trees }) => [...trees]);
  }

  /** The first tokens of these trees are listed. */
  started(trees: readonly StartedTree[]): void {
    this.#shard.pool.started(trees, isolates().clockSkewMs);
  }

  /** Nothing is left in these trees: they are allocated again. Safe to repeat. */
  release(trees: readonly string[]): void {
    for (const tree of trees) if (this.#shard.pool.put(tree)) noteFreed(this.#shard.shardNumber());
  }

  /** Asks trees that were allocated a while ago whether they were ever used: what is alive there is listed then. */
  async askDue(): Promise<void> {
    if (this.#askAt === null || this.#askAt > currentTime()) return;
    const { pool } = this.#shard;
    let asked = 0;
    for (const batch of pool.batches(currentTime() - ASK_AFTER_MS, ASK_STEP)) {
      if (asked >= ASK_STEP) break;
      asked += batch.trees.size;
      await this.#askAll(batch);
    }
    this.refresh();
  }

  /** Asks the trees of a batch. Those that do not answer are asked again later. */
  async #askAll(batch: Batch): Promise<void> {
    const { pool, ask } = this.#shard;
    const silent: string[] = [];
    await inGroups([...batch.trees], async (treeId) => {
      try {
        if (await ask(treeId)) this.release([treeId]);
      } catch (error) {
        console.error(JSON.stringify({ type: "list of accessors", tree: treeId, error: String(error) }));
        silent.push(treeId);
      }
    });
    if (silent.length > 0) pool.allocated(silent, currentTime());
    pool.asked(batch);
  }
}
