import { nameKey } from "../../base/name.ts";
import type { RowSeals } from "../../storage/row-seals.ts";
import { SealedTable, type TableShape, type WithSeal } from "../../storage/sealed-table.ts";

interface NameRow extends Record<string, SqlStorageValue> {
  entity_id: string;
  name: string;
  /** In lower case. */
  name_key: string;
}

const SHAPE: TableShape = {
  table: "entity_names",
  kind: "entity name",
  key: ["entity_id"],
  sealed: ["name", "name_key"],
};

/** The table of the names that operators gave to entities. Rows that were tampered with count as absent. */
export class NameStore {
  readonly #sql: SqlStorage;
  /** The table as seals see it. */
  readonly sealed: SealedTable<NameRow>;

  constructor(sql: SqlStorage, seals: RowSeals) {
    this.#sql = sql;
    this.sealed = new SealedTable(sql, seals, SHAPE);
  }

  /** The id of the entity with this name, whatever its case; null when none has it. */
  entityOf(name: string): string | null {
    return this.#read("SELECT * FROM entity_names WHERE name_key = ?", nameKey(name))[0]?.entity_id ?? null;
  }

  /** The name of an entity; null when it has none. "tampered": this installation did not write the row. */
  nameOf(entityId: string): string | "tampered" | null {
    const query = "SELECT * FROM entity_names WHERE entity_id = ?";
    const [row] = this.#sql.exec<WithSeal<NameRow>>(query, entityId).toArray();
    if (!row) return null;
    return this.sealed.admits(row) ? row.name : "tampered";
  }

  /** At most `limit` names after `after`, in their order. */
  list(after: string, limit: number): string[] {
    const query = "SELECT * FROM entity_names WHERE name_key > ? ORDER BY name_key LIMIT ?";
    return this.#read(query, nameKey(after), limit).map(({ name }) => name);
  }

  /** Gives an entity a name instead of the one that it has. A row of this name can only be one that was tampered with: it goes. */
  write(entityId: string, name: string): void {
    const row: NameRow = { entity_id: entityId, name, name_key: nameKey(name) };
    this.#sql.exec(
      "INSERT OR REPLACE INTO entity_names (entity_id, name, name_key, seal) VALUES (?, ?, ?, ?)",
      ...[row.entity_id, row.name, row.name_key],
      this.sealed.sealOf(row),
    );
  }

  delete(entityId: string): void {
    this.#sql.exec("DELETE FROM entity_names WHERE entity_id = ?", entityId);
  }

  #read(query: string, ...values: (string | number)[]): NameRow[] {
    return this.sealed.admitted(this.#sql.exec<WithSeal<NameRow>>(query, ...values).toArray());
  }
}
