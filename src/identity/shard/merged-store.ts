import type { RowSeals } from "../../storage/row-seals.ts";
import { SealedTable } from "../../storage/sealed-table.ts";
import type { Migration, Sql } from "../../storage/tables.ts";

export const MERGED_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "entities that were merged into others",
    sql: "CREATE TABLE merged (id TEXT PRIMARY KEY, target TEXT NOT NULL, seal BLOB) WITHOUT ROWID;",
  },
];

type MergedRow = Record<"id" | "target", string>;

/**
 * The table of a shard's entities that were merged into others: their tokens lead to the target. A tampered row counts
 * as absent, so that its tokens are refused.
 */
export class MergedStore {
  readonly #sql: Sql;
  readonly #sealed: SealedTable<MergedRow>;

  constructor(sql: Sql, seals: RowSeals) {
    this.#sql = sql;
    this.#sealed = new SealedTable(sql, seals, {
      table: "merged",
      kind: "merged entity",
      key: ["id"],
      sealed: ["target"],
    });
  }

  /** Returns the id of the entity into which this one was merged, or null. */
  targetOf(id: string): string | null {
    return this.#sealed.find(id)?.target ?? null;
  }

  put(id: string, target: string): void {
    this.#sealed.put({ id, target });
  }

  /** Deletes the rows of entities that were merged into one of `targets`. */
  drop(ids: readonly string[], targets: readonly string[]): void {
    const which = "id IN (SELECT value FROM json_each(?)) AND target IN (SELECT value FROM json_each(?))";
    this.#sql.exec(`DELETE FROM merged WHERE ${which}`, JSON.stringify(ids), JSON.stringify(targets));
  }
}
