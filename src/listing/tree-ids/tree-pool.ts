import type { Migration } from "../../storage/schema.ts";
import { type Sql, Tables } from "../../storage/tables.ts";
import { rowGeneratedAt } from "../../token/ids.ts";
import type { StartedTree } from "../updates/shard-updates.ts";

/** Ids of trees that a shard handed out. */
export const ALLOCATED_TREES_SQL = `
  CREATE TABLE allocated_trees (tree TEXT PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID;
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

/**
 * Ids of trees that one shard hands out. It keeps those of freed trees, which are handed out first, and notes each that it handed
 * out until a shard lists the first token of the tree. So a tree whose token was never published, as the process ended before, is known here,
 * and can be asked.
 *
 * That an id is here does not make its tree free: the tree itself decides, in one step, whether it is taken.
 */
export class TreePool {
  readonly #sql: Sql;
  readonly #free: Tables;
  /** Those of the freed trees that came last, the latest at the end: most likely still awake. */
  #latest: string[] = [];

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

  /** Notes that ids are handed out at `now` (ms). */
  allocated(trees: readonly string[], now: number): void {
    this.#sql.exec(
      "INSERT OR REPLACE INTO allocated_trees (tree, at) SELECT value, ? FROM json_each(?)",
      now,
      JSON.stringify(trees),
    );
  }

  /**
   * The first tokens of these trees are listed. An id that was handed out again since is not meant. Safe to repeat.
   *
   * @param skew by how much the clocks of those who made the tokens may be behind (ms).
   */
  started(trees: readonly StartedTree[], skew: number): void {
    if (trees.length === 0) return;
    const until = trees.map(({ tree, row }) => ({ tree, until: rowGeneratedAt(row) + skew }));
    this.#sql.exec(
      `DELETE FROM allocated_trees WHERE tree IN (
         SELECT d.tree FROM json_each(?) s JOIN allocated_trees d ON d.tree = s.value ->> 'tree' AND d.at <= s.value ->> 'until'
       )`,
      JSON.stringify(until),
    );
  }

  /** The tree was asked. */
  asked(tree: string): void {
    this.#sql.exec("DELETE FROM allocated_trees WHERE tree = ?", tree);
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

  /** At most `limit` ids that were handed out at `until` (ms) or before. */
  allocatedUntil(until: number, limit: number): string[] {
    return this.#sql
      .exec<{ tree: string }>("SELECT tree FROM allocated_trees WHERE at <= ? LIMIT ?", until, limit)
      .toArray()
      .map(({ tree }) => tree);
  }
}
