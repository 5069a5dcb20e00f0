import { nameKey } from "../../base/case-folding.ts";
import { columnOf, type Sql } from "../../storage/tables.ts";
import type { EntityStore } from "./entity-store.ts";

/** A search text: a part of a name or of an id. */
export interface NamePart {
  /** As `nameKey` returns it: the form in which names are compared. */
  readonly key: string;
  /** Hex digits of an id, without dashes; null for a text that can't be a part of an id. */
  readonly id: string | null;
}

/** Returns at most `limit` ids of entities that may have the part in an id or alias name: pointers can be stale. */
export function mayHavePart(sql: Sql, { key, id }: NamePart, limit: number): string[] {
  const query = `SELECT id FROM entities WHERE instr(alias_key, ?1) > 0 OR instr(replace(id, '-', ''), ?2) > 0
      UNION SELECT entity_id FROM pointers WHERE alias_mount <> '' AND instr(alias_key, ?1) > 0 LIMIT ?3`;
  return columnOf(sql, query, key, id, limit);
}

/** Returns the ids of `ids` whose entities have the part in their ids or in the names of their aliases. */
export function havingPart(entities: EntityStore, ids: readonly string[], { key, id: digits }: NamePart): string[] {
  return ids.filter((id) => {
    const found = entities.good(id);
    if (!found) return false;
    const isInId = digits !== null && id.replaceAll("-", "").includes(digits);
    return isInId || found.entity.aliases.some(({ name }) => nameKey(name).includes(key));
  });
}
