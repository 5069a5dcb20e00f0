import type { RowSeals } from "../../storage/row-seals.ts";
import { SealedTable } from "../../storage/sealed-table.ts";
import type { Migration, Sql } from "../../storage/tables.ts";

export const MERGE_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "merges of entities that have begun",
    sql: `
      CREATE TABLE merges (source TEXT PRIMARY KEY, target TEXT NOT NULL, seal BLOB) WITHOUT ROWID;
      CREATE INDEX merges_by_target ON merges (target);
    `,
  },
];

/** An entity that is being merged into another one. */
type BegunMerge = Record<"source" | "target", string>;

/** The table of merges that have begun and not ended: a sealed row for each source. Tampered rows count as absent. */
export class MergeStore {
  readonly #sql: Sql;
  readonly #sealed: SealedTable<BegunMerge>;

  constructor(sql: Sql, seals: RowSeals) {
    this.#sql = sql;
    this.#sealed = new SealedTable(sql, seals, {
      table: "merges",
      kind: "entity merge",
      key: ["source"],
      sealed: ["target"],
    });
  }

  /** Returns the merges that have one of these entities as a source or as the target. */
  naming(ids: readonly string[]): BegunMerge[] {
    const among = "IN (SELECT value FROM json_each(?1))";
    return this.#sealed.list(`WHERE source ${among} OR target ${among}`, JSON.stringify(ids));
  }

  /** Returns the entities into which these are being merged. */
  targetsOf(sources: readonly string[]): string[] {
    const which = "WHERE source IN (SELECT value FROM json_each(?))";
    return this.#sealed.list(which, JSON.stringify(sources)).map(({ target }) => target);
  }

  begin(sources: readonly string[], target: string): void {
    for (const source of sources) this.#sealed.put({ source, target });
  }

  end(sources: readonly string[]): void {
    for (const source of sources) this.#sealed.delete(source);
  }

  /** Ends all merges from and into a deleted entity. */
  forgetEntity(id: string): void {
    this.#sql.exec("DELETE FROM merges WHERE source = ?1 OR target = ?1", id);
  }
}
