import { nameKey } from "../../base/case-folding.ts";
import type { RowSeals } from "../../storage/row-seals.ts";
import { SealedTable } from "../../storage/sealed-table.ts";
import type { Sql } from "../../storage/tables.ts";

type NameRow = Record<"entity_id" | "name" | "name_key", string>;

/** The table of the names that operators gave to entities. Tampered rows count as absent, except in `nameOf`. */
export class EntityNameStore {
  readonly #sql: Sql;
  readonly #sealed: SealedTable<NameRow>;

  constructor(sql: Sql, seals: RowSeals) {
    this.#sql = sql;
    this.#sealed = new SealedTable(sql, seals, {
      table: "entity_names",
      kind: "entity name",
      key: ["entity_id"],
      sealed: ["name", "name_key"],
    });
  }

  /** The id of the entity with this name, without regard to case; null when there is none. */
  holderOf(name: string): string | null {
    return this.#sealed.list("WHERE name_key = ?", nameKey(name))[0]?.entity_id ?? null;
  }

  /** The name of an entity; null when it has none. "tampered": this installation did not write it. */
  nameOf(entityId: string): { readonly name: string | null } | "tampered" {
    const { good, tampered } = this.#sealed.judged("WHERE entity_id = ?", entityId);
    return tampered.length > 0 ? "tampered" : { name: good[0]?.name ?? null };
  }

  /** Gives an entity a name that no other entity has. */
  put(entityId: string, name: string): void {
    const key = nameKey(name);
    // Another row with this name was tampered with.
    this.#sql.exec("DELETE FROM entity_names WHERE name_key = ? AND entity_id <> ?", key, entityId);
    this.#sealed.put({ entity_id: entityId, name, name_key: key });
  }

  delete(entityId: string): void {
    this.#sealed.delete(entityId);
  }

  /** At most `limit` names after `after`, in order. */
  list(after: string, limit: number): string[] {
    const rows = this.#sealed.list("WHERE name_key > ? ORDER BY name_key LIMIT ?", nameKey(after), limit);
    return rows.map(({ name }) => name);
  }

  /** At most `limit` ids of entities whose names contain `key` (lower case). Reads all names. */
  search(key: string, limit: number): string[] {
    return this.#sealed.list("WHERE instr(name_key, ?) > 0 LIMIT ?", key, limit).map(({ entity_id }) => entity_id);
  }
}
