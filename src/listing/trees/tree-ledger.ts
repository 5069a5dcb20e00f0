import { currentTime, type Ms } from "../../base/clock.ts";
import { inGroups } from "../../base/parallel.ts";
import { columnOf, type Migration, type Sql, storedJson, Tables } from "../../storage/tables.ts";
import { rowGeneratedAt } from "../../token/ids.ts";
import { newTreeId, treeAt } from "../../token/tree-stub.ts";
import type { ListingEnv } from "../env.ts";
import type { StartedTree } from "../updates/publish.ts";
import { noteFreed } from "./tree-id-supply.ts";

/** Allocated ids of trees: a row for each batch that was allocated together. */
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

/** Freed trees that a shard remembers: an object is evicted from memory some ten seconds after its last call. */
const MAX_LATEST = 1000;
/** Delay between the allocation of an id and the call to its tree, unless its first token is listed by then. */
const ASK_AFTER_MS = 60_000;
const ASK_PAUSE_MS = 1000;
/** Number of called trees after which an alarm takes no further batch. */
const ASK_STEP = 60;

/** Ids that were allocated together at `at`. `trees`: the ids of trees whose first token is not known to be listed. */
interface Batch {
  readonly id: number;
  readonly at: Ms;
  readonly trees: Set<string>;
}

/**
 * The ids of trees that one shard allocates, those of freed trees first. A batch of allocated ids is one row, which is
 * kept until the first token of each of its trees is listed, or all of the trees were called. So a tree whose token was
 * never published, because the process ended before, is known here and can be called. Which trees of a batch have a
 * listed token is only kept in memory: a shard that was evicted calls more trees than needed, which costs less than a
 * row for each tree. An id in the pool does not guarantee that its tree is free: the tree itself decides, in one step,
 * whether it is taken.
 */
export class TreeLedger {
  readonly #sql: Sql;
  readonly #free: Tables;
  readonly #env: ListingEnv;
  readonly #shardNumber: () => number;
  /** The most recently freed trees, the latest at the end: their objects are most likely still in memory. */
  #latest: string[] = [];
  readonly #known = new Map<number, Batch>();
  /** The latest of these batches with a tree, by the id of the tree. */
  readonly #batchOf = new Map<string, Batch>();
  /** When trees are called next; null: no batch is left. The rows are not read before that time. */
  #nextDueAt: Ms | null = null;

  /** @param sql contains the table of allocated ids. @param storage the first freed tree creates a table in it. */
  constructor(sql: Sql, storage: SqlStorage, env: ListingEnv, shardNumber: () => number) {
    this.#sql = sql;
    this.#free = new Tables(storage, FREE_TREES_MIGRATIONS, "free_trees");
    this.#env = env;
    this.#shardNumber = shardNumber;
  }

  get nextDueAt(): Ms | null {
    return this.#nextDueAt;
  }

  /** Reads `nextDueAt` from the oldest batch. Needed after a start of the object. */
  refresh(): void {
    const [oldest = null] = columnOf<number | null>(this.#sql, "SELECT MIN(at) FROM allocated_trees");
    this.#nextDueAt = oldest === null ? null : Math.max(currentTime() + ASK_PAUSE_MS, oldest + ASK_AFTER_MS);
  }

  /** Allocates `count` ids. While there are freed trees it allocates theirs, even if they are fewer than `count`. */
  allocate(count: number): string[] {
    const again = this.#takeFreed(count);
    const trees = again.length > 0 ? again : Array.from({ length: count }, () => newTreeId(this.#env));
    const now = currentTime();
    this.#note(trees, now);
    this.#nextDueAt ??= now + ASK_AFTER_MS;
    return trees;
  }

  allocated(): string[] {
    return this.#batches(Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER).flatMap(({ trees }) => [...trees]);
  }

  /** Notes that the first tokens of these trees are listed. An id that was allocated again since is ignored. */
  started(trees: readonly StartedTree[]): void {
    for (const { tree, row } of trees) {
      const batch = this.#batchOf.get(tree);
      // The clock of the isolate that created the token may be behind.
      if (batch && batch.at <= rowGeneratedAt(row) + this.#env.deployment.clockSkewMs) this.#settle(tree);
    }
  }

  /** Adds the ids of empty trees to the pool. Safe to repeat. */
  release(trees: readonly string[]): void {
    for (const tree of trees) {
      const isNew = this.#free.exec("INSERT OR IGNORE INTO free_trees (tree) VALUES (?)", tree).rowsWritten > 0;
      if (!isNew) continue;
      this.#latest.push(tree);
      if (this.#latest.length > 2 * MAX_LATEST) this.#latest = this.#latest.slice(-MAX_LATEST);
      noteFreed(this.#shardNumber());
    }
  }

  /** Calls trees that were allocated `ASK_AFTER_MS` ago and have no listed token: they list what is alive. */
  async askDue(): Promise<void> {
    if (this.#nextDueAt === null || this.#nextDueAt > currentTime()) return;
    let asked = 0;
    for (const batch of this.#batches(currentTime() - ASK_AFTER_MS, ASK_STEP)) {
      if (asked >= ASK_STEP) break;
      asked += batch.trees.size;
      const silent: string[] = [];
      await inGroups([...batch.trees], async (treeId) => {
        try {
          // The tree has its first token listed if it has one. An empty tree can be allocated again.
          if (await treeAt(this.#env, treeId).report()) this.release([treeId]);
        } catch (error) {
          console.error(JSON.stringify({ type: "list of accessors", tree: treeId, error: String(error) }));
          silent.push(treeId);
        }
      });
      // Trees that do not answer become a new batch, so that they are called again later.
      if (silent.length > 0) this.#note(silent, currentTime());
      for (const tree of this.#known.get(batch.id)?.trees ?? []) this.#batchOf.delete(tree);
      this.#forget(batch.id);
    }
    this.refresh();
  }

  /** Takes at most `limit` freed trees, the latest first: starting an object costs more than its first token. */
  #takeFreed(limit: number): string[] {
    const latest = this.#latest.splice(-limit);
    const taken = latest.length === 0 ? [] : this.#delete("SELECT value FROM json_each(?)", JSON.stringify(latest));
    const missing = limit - taken.length;
    return missing === 0 ? taken : [...taken, ...this.#delete("SELECT tree FROM free_trees LIMIT ?", missing)];
  }

  #delete(query: string, value: string | number): string[] {
    return columnOf(this.#free, `DELETE FROM free_trees WHERE tree IN (${query}) RETURNING tree`, value);
  }

  #note(trees: readonly string[], now: Ms): void {
    const statement = "INSERT INTO allocated_trees (at, trees) VALUES (?, ?) RETURNING id";
    const { id } = this.#sql.exec<{ id: number }>(statement, now, JSON.stringify(trees)).one();
    const batch = { id, at: now, trees: new Set(trees) };
    this.#known.set(batch.id, batch);
    for (const tree of trees) {
      // The id is allocated again, so its earlier batch need not call the tree.
      this.#settle(tree);
      this.#batchOf.set(tree, batch);
    }
  }

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

  /** Returns at most `limit` batches that were allocated at `until` or before, the oldest first. */
  #batches(until: Ms, limit: number): Batch[] {
    const query = "SELECT id, at, trees FROM allocated_trees WHERE at <= ? ORDER BY id LIMIT ?";
    const rows = this.#sql.exec<{ id: number; at: Ms; trees: string }>(query, until, limit).toArray();
    const setOf = (trees: string) => new Set(storedJson<string[]>(trees));
    return rows.map(({ id, at, trees }) => this.#known.get(id) ?? { id, at, trees: setOf(trees) });
  }
}
