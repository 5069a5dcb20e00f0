import type { Migration } from "../../storage/schema.ts";
import { storedJson } from "../../storage/stored-json.ts";
import { type Sql, Tables } from "../../storage/tables.ts";
import { rowGeneratedAt } from "../../token/ids.ts";
import type { StartedTree } from "../updates/shard-updates.ts";

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

/** Ids that were handed out together. */
export interface Batch {
  readonly id: number;
  /** When that was (ms). */
  readonly at: number;
  /** Those whose first token is not known to be listed. */
  readonly trees: ReadonlySet<string>;
}

type KnownBatch = Batch & { readonly trees: Set<string> };

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
  /** Those of the freed trees that came last, the latest at the end: most likely still awake. */
  #latest: string[] = [];
  /** Batches that were handed out since this shard is awake, by id. */
  readonly #known = new Map<number, KnownBatch>();
  /** The last of them that has the tree. */
  readonly #batchOf = new Map<string, KnownBatch>();

  /** @param sql has the table of allocated ids. @param storage gets a table of freed trees with the first of them. */
  constructor(sql: Sql, storage: SqlStorage) {
    this.#sql = sql;
    this.#free = new Tables(storage, FREE_TREES_MIGRATIONS, "free_trees");
  }

  /** Keeps the id of a freed tree. Returns false when it is here already. */
  put(tree: string): boolean {
    const isNew = this.#free.exec("INSERT OR IGNORE INTO free_trees (tree) VALUES (?)", tree).rowsWritten > 0;
    if (isNew) this.#latest.push(tree);
    if (this.#latest.length > 2 * MAX_LATEST) this.#latest = this.#latest.slice(-MAX_LATEST);
    return isNew;
  }

  /**
   * Takes at most `limit` ids of freed trees. Those that were freed last come first: a tree that has just ended is awake, and to wake
   * one costs more than its first token.
   */
  take(limit: number): string[] {
    const latest = this.#latest.splice(-limit);
    const taken = latest.length === 0 ? [] : this.#delete("SELECT value FROM json_each(?)", JSON.stringify(latest));
    const missing = limit - taken.length;
    return missing === 0 ? taken : [...taken, ...this.#delete("SELECT tree FROM free_trees LIMIT ?", missing)];
  }

  /** Notes that ids are handed out together at `now` (ms). */
  allocated(trees: readonly string[], now: number): void {
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

  /**
   * The first tokens of these trees are listed. An id that was handed out again since is not meant. Safe to repeat.
   *
   * @param skew by how much the clocks of those who made the tokens may be behind (ms).
   */
  started(trees: readonly StartedTree[], skew: number): void {
    for (const { tree, row } of trees) {
      const batch = this.#batchOf.get(tree);
      if (batch && batch.at <= rowGeneratedAt(row) + skew) this.#settle(tree);
    }
  }

  /** All trees of a batch were asked. */
  asked({ id }: Batch): void {
    for (const tree of this.#known.get(id)?.trees ?? []) this.#batchOf.delete(tree);
    this.#forget(id);
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

  /** Deletes ids of freed trees that a query gives. */
  #delete(query: string, value: string | number): string[] {
    return this.#free
      .exec<{ tree: string }>(`DELETE FROM free_trees WHERE tree IN (${query}) RETURNING tree`, value)
      .toArray()
      .map(({ tree }) => tree);
  }

  /** When the id that waits longest was handed out (ms); null: none waits. */
  get oldest(): number | null {
    return this.#sql.exec<{ at: number | null }>("SELECT MIN(at) AS at FROM allocated_trees").toArray()[0]?.at ?? null;
  }

  /** Batches that were handed out at `until` (ms) or before, at most `limit` of them. */
  batches(until: number, limit: number): Batch[] {
    return this.#sql
      .exec<{ id: number; at: number; trees: string }>(
        "SELECT id, at, trees FROM allocated_trees WHERE at <= ? ORDER BY id LIMIT ?",
        ...[until, limit],
      )
      .toArray()
      .map(({ id, at, trees }) => this.#known.get(id) ?? { id, at, trees: new Set(storedJson<string[]>(trees)) });
  }
}
