/** Ids of trees that a shard handed out. */
export const DRAWN_TREES_SQL = `
  CREATE TABLE drawn_trees (tree TEXT PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID;
`;

/**
 * Ids of trees that one shard handed out, each until a shard lists the first token of the tree. So a tree that nobody told of, as
 * the process ended before, is known here, and can be asked.
 */
export class TreePool {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** Notes that ids are handed out at `now` (ms). */
  drawn(trees: readonly string[], now: number): void {
    this.#sql.exec(
      "INSERT OR REPLACE INTO drawn_trees (tree, at) SELECT value, ? FROM json_each(?)",
      now,
      JSON.stringify(trees),
    );
  }

  /** The first tokens of these trees are listed. Safe to repeat. */
  started(trees: readonly string[]): void {
    if (trees.length === 0) return;
    this.#sql.exec("DELETE FROM drawn_trees WHERE tree IN (SELECT value FROM json_each(?))", JSON.stringify(trees));
  }

  /** When the id that waits longest was handed out (ms); null: none waits. */
  get oldest(): number | null {
    return this.#sql.exec<{ at: number | null }>("SELECT MIN(at) AS at FROM drawn_trees").one().at;
  }

  /** At most `limit` ids that were handed out at `until` (ms) or before. */
  drawnUntil(until: number, limit: number): string[] {
    return this.#sql
      .exec<{ tree: string }>("SELECT tree FROM drawn_trees WHERE at <= ? LIMIT ?", until, limit)
      .toArray()
      .map(({ tree }) => tree);
  }
}
