import { currentTime } from "../../base/clock.ts";
import { isolates } from "../../base/isolates.ts";
import { inGroups } from "../../base/parallel.ts";
import { columnOf, type Migration, type Sql, storedJson, Tables } from "../../storage/tables.ts";
import { rowGeneratedAt } from "../../token/ids.ts";
import type { StartedTree } from "../updates/update-queue.ts";

/** Ids of trees that a shard handed out: a row for those that were handed out together. */
export const ALLOCATED_TREES_SQL = `
  CREATE TABLE allocated_trees (id INTEGER PRIMARY KEY, at INTEGER NOT NULL, trees TEXT NOT NULL);
`;

export const FREE_TREES_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "ids of trees that nothing is left in",
    sql: "CREATE TABLE free_trees (tree TEXT PRIMARY KEY) WITHOUT ROWID;",
  },
];

/** Freed trees of which a shard remembers that they came last. An object sleeps some ten seconds after its last call. */
const MAX_LATEST = 1000;
/** So long after an id was allocated (ms) its tree is asked, unless its first token is listed. */
const ASK_AFTER_MS = 60_000;
/** Pause between two alarms that ask trees (ms). */
const ASK_PAUSE_MS = 1000;
/** Trees that one alarm asks. */
const ASK_STEP = 60;

/** What the pool needs of the shard around it. */
interface PoolDeps {
  readonly shardNumber: () => number;
  readonly newTreeId: () => string;
  /** Asks a tree whether it was ever used; its token is listed then. True when the tree can be allocated again. */
  readonly ask: (treeId: string) => Promise<boolean>;
}

/** Ids that were handed out together at `at` (ms). `trees`: those whose first token is not known to be listed. */
interface Batch {
  readonly id: number;
  readonly at: number;
  readonly trees: Set<string>;
}

/**
 * Ids of trees that one shard hands out. It keeps those of freed trees, which are handed out first, and notes those that it handed out
 * together in one row, until a shard lists the first token of each of the trees, or all were asked. So a tree whose token was never published,
 * as the process ended before, is known here, and can be asked. Which trees of a batch have started is kept in memory: a shard that has
 * slept asks some more of them, which costs less than a row for each tree.
 *
 * That an id is here does not make its tree free: the tree itself decides, in one step, whether it is taken.
 */
export class TreePool {
  readonly #sql: Sql;
  readonly #free: Tables;
  readonly #shard: PoolDeps;
  /** Those of the freed trees that came last, the latest at the end: most likely still awake. */
  #latest: string[] = [];
  /** Batches that were handed out since this shard is awake, by id. */
  readonly #known = new Map<number, Batch>();
  /** The last of them that has the tree. */
  readonly #batchOf = new Map<string, Batch>();
  /** When trees are asked next (ms); null: none waits. Their rows are not read before. */
  #askAt: number | null = null;

  /** @param sql has the table of allocated ids. @param storage gets a table of freed trees with the first of them. */
  constructor(sql: Sql, storage: SqlStorage, shard: PoolDeps) {
    this.#sql = sql;
    this.#free = new Tables(storage, FREE_TREES_MIGRATIONS, "free_trees");
    this.#shard = shard;
  }

  /** When the alarm has work here (ms), or null. */
  get nextDueAt(): number | null {
    return this.#askAt;
  }

  /** Reads when the id that waits longest was handed out. Needed after a wake-up. */
  refresh(): void {
    const [first] = this.#sql.exec<{ at: number | null }>("SELECT MIN(at) AS at FROM allocated_trees").toArray();
    const oldest = first?.at ?? null;
    this.#askAt = oldest === null ? null : Math.max(currentTime() + ASK_PAUSE_MS, oldest + ASK_AFTER_MS);
  }

  /** Allocates ids: those of freed trees while there are any, fewer than `count` if need be. */
  allocate(count: number): string[] {
    const freed = this.#takeFreed(count);
    const trees = freed.length > 0 ? freed : Array.from({ length: count }, this.#shard.newTreeId);
    const now = currentTime();
    this.#note(trees, now);
    this.#askAt ??= now + ASK_AFTER_MS;
    return trees;
  }

  /** Ids that were handed out, and whose first token is not known to be listed. */
  allocated(): string[] {
    return this.#batches(Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER).flatMap(({ trees }) => [...trees]);
  }

  /** The first tokens of these trees are listed. An id that was handed out again since is not meant. Safe to repeat. */
  started(trees: readonly StartedTree[]): void {
    for (const { tree, row } of trees) {
      const batch = this.#batchOf.get(tree);
      // The clock of the isolate that made the token may be behind.
      if (batch && batch.at <= rowGeneratedAt(row) + isolates().clockSkewMs) this.#settle(tree);
    }
  }

  /** Nothing is left in these trees: they are allocated again. Safe to repeat. */
  release(trees: readonly string[]): void {
    for (const tree of trees) {
      const isNew = this.#free.exec("INSERT OR IGNORE INTO free_trees (tree) VALUES (?)", tree).rowsWritten > 0;
      if (!isNew) continue;
      this.#latest.push(tree);
      if (this.#latest.length > 2 * MAX_LATEST) this.#latest = this.#latest.slice(-MAX_LATEST);
      noteFreed(this.#shard.shardNumber());
    }
  }

  /** Asks trees that were allocated a while ago whether they were ever used: what is alive there is listed then. */
  async askDue(): Promise<void> {
    if (this.#askAt === null || this.#askAt > currentTime()) return;
    let asked = 0;
    for (const batch of this.#batches(currentTime() - ASK_AFTER_MS, ASK_STEP)) {
      if (asked >= ASK_STEP) break;
      asked += batch.trees.size;
      await this.#askAll(batch);
    }
    this.refresh();
  }

  /** Asks the trees of a batch. Those that do not answer are asked again later. */
  async #askAll({ id, trees }: Batch): Promise<void> {
    const silent: string[] = [];
    await inGroups([...trees], async (treeId) => {
      try {
        if (await this.#shard.ask(treeId)) this.release([treeId]);
      } catch (error) {
        console.error(JSON.stringify({ type: "list of accessors", tree: treeId, error: String(error) }));
        silent.push(treeId);
      }
    });
    if (silent.length > 0) this.#note(silent, currentTime());
    for (const tree of this.#known.get(id)?.trees ?? []) this.#batchOf.delete(tree);
    this.#forget(id);
  }

  /**
   * Takes at most `limit` ids of freed trees. Those that were freed last come first: a tree that has just ended is awake, and to wake
   * one costs more than its first token.
   */
  #takeFreed(limit: number): string[] {
    const latest = this.#latest.splice(-limit);
    const taken = latest.length === 0 ? [] : this.#delete("SELECT value FROM json_each(?)", JSON.stringify(latest));
    const missing = limit - taken.length;
    return missing === 0 ? taken : [...taken, ...this.#delete("SELECT tree FROM free_trees LIMIT ?", missing)];
  }

  /** Deletes ids of freed trees that a query gives. */
  #delete(query: string, value: string | number): string[] {
    return columnOf(this.#free, `DELETE FROM free_trees WHERE tree IN (${query}) RETURNING tree`, value);
  }

  /** Notes that ids are handed out together at `now` (ms). */
  #note(trees: readonly string[], now: number): void {
    const row = this.#sql.exec<{ id: number }>(
      "INSERT INTO allocated_trees (at, trees) VALUES (?, ?) RETURNING id",
      now,
      JSON.stringify(trees),
    );
    const batch = { id: row.one().id, at: now, trees: new Set(trees) };
    this.#known.set(batch.id, batch);
    for (const tree of trees) {
      // Handed out again: the life before is over.
      this.#settle(tree);
      this.#batchOf.set(tree, batch);
    }
  }

  /** Nothing more is to be asked of a tree. */
  #settle(tree: string): void {
    const batch = this.#batchOf.get(tree);
    if (!batch) return;
    this.#batchOf.delete(tree);
    batch.trees.delete(tree);
    if (batch.trees.size === 0) this.#forget(batch.id);
  }

  #forget(id: number): void {
    this.#known.delete(id);
    this.#sql.exec("DELETE FROM allocated_trees WHERE id = ?", id);
  }

  /** Batches that were handed out at `until` (ms) or before, at most `limit` of them. */
  #batches(until: number, limit: number): Batch[] {
    const query = "SELECT id, at, trees FROM allocated_trees WHERE at <= ? ORDER BY id LIMIT ?";
    const rows = this.#sql.exec<{ id: number; at: number; trees: string }>(query, until, limit).toArray();
    return rows.map(
      ({ id, at, trees }) => this.#known.get(id) ?? { id, at, trees: new Set(storedJson<string[]>(trees)) },
    );
  }
}

/*
 * Which shards have freed trees to allocate. Only where one process serves everything are trees taken again, and there the shards and
 * their callers share one isolate. A hint: what a shard has is in its storage.
 */

/** Freed trees that shards were given and that are not allocated again, by shard. The shard that was given one last is at the end. */
const freed = new Map<number, number>();

/** A shard was given the id of a freed tree. */
function noteFreed(shard: number): void {
  const before = freed.get(shard) ?? 0;
  freed.delete(shard);
  freed.set(shard, before + 1);
}

/** At most `count` ids are allocated by a shard. */
export function noteAllocated(shard: number, count: number): void {
  const left = (freed.get(shard) ?? 0) - count;
  if (left > 0) freed.set(shard, left);
  else freed.delete(shard);
}

/** The shard that was given a freed tree last, of those that may have some; undefined: none is known. */
export function shardWithFreed(): number | undefined {
  return [...freed.keys()].at(-1);
}
