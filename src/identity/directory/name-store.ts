import { nameKey } from "../../base/name.ts";
import type { RowSeals } from "../../storage/row-seals.ts";
import { SealedTable } from "../../storage/sealed-table.ts";
import type { Sql } from "../../storage/tables.ts";

interface NameRow extends Record<string, SqlStorageValue> {
  entity_id: string;
  name: string;
  /** In lower case. */
  name_key: string;
}

/** The table of the names that operators gave to entities. Tampered rows count as absent, except in `nameOf`. */
export class NameStore {
  readonly #sql: Sql;
  readonly #sealed: SealedTable<NameRow>;

  constructor(sql: Sql, seals: RowSeals) {
    this.#sql = sql;
    const sealed = ["name", "name_key"];
    this.#sealed = new SealedTable(sql, seals, {
      table: "entity_names",
      kind: "entity name",
      key: ["entity_id"],
      sealed,
    });
  }

  /** Returns the id of the entity with this name, without regard to case; null when there is none. */
  entityOf(name: string): string | null {
    return this.#sealed.list("WHERE name_key = ?", nameKey(name))[0]?.entity_id ?? null;
  }

  /** Returns the name of an entity; null when it has none. "tampered": this installation did not write the row. */
  nameOf(entityId: string): string | "tampered" | null {
    const { good, tampered } = this.#sealed.judged("WHERE entity_id = ?", entityId);
    return tampered.length > 0 ? "tampered" : (good[0]?.name ?? null);
  }

  /** Returns at most `limit` names after `after`, in order. */
  list(after: string, limit: number): string[] {
    const names = this.#sealed.list("WHERE name_key > ? ORDER BY name_key LIMIT ?", nameKey(after), limit);
    return names.map(({ name }) => name);
  }

  /** Returns at most `limit` ids of entities whose names contain `key` (lower case). */
  search(key: string, limit: number): string[] {
    return this.#sealed.list("WHERE instr(name_key, ?) > 0 LIMIT ?", key, limit).map(({ entity_id }) => entity_id);
  }

  /** Replaces the name of an entity. Another row with this name can only be a tampered one, which is deleted. */
  write(entityId: string, name: string): void {
    const name_key = nameKey(name);
    this.#sql.exec("DELETE FROM entity_names WHERE name_key = ? AND entity_id <> ?", name_key, entityId);
    this.#sealed.put({ entity_id: entityId, name, name_key });
  }

  delete(entityId: string): void {
    this.#sealed.delete(entityId);
  }
}
