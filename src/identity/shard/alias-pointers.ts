import { nameKey } from "../../base/case-folding.ts";
import type { Sql } from "../../storage/tables.ts";
import type { AliasPlace } from "../model.ts";

/** The entity that the name of an alias leads to. Only the entity's own shard knows whether it has the alias. */
export interface AliasOwner {
  readonly entityId: string;
  /** Random value of the last write of the pointer (compare-and-swap); null when the entity was found without one. */
  readonly claim: string | null;
}

/** The id of an alias, which was generated for its first entity, and the entity to which an operator moved it. */
export interface MovedAlias {
  readonly id: string;
  readonly movedTo: string;
}

/** Mount accessor of pointers that are keyed by the id of a moved alias. No mount has an empty accessor. */
export const BY_ALIAS_ID = "";

/**
 * The pointers of a shard, from the names of aliases to the entities that the index by alias does not have. An alias is
 * valid only when its name leads to an entity and that entity's row has the alias. A pointer alone proves nothing, so
 * pointers need no seals.
 */
export class AliasPointers {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  at({ mountAccessor, name }: AliasPlace): AliasOwner | null {
    const query = "SELECT entity_id AS entityId, claim FROM pointers WHERE alias_mount = ? AND alias_key = ?";
    const [pointer] = this.#sql.exec<Record<keyof AliasOwner, string>>(query, mountAccessor, nameKey(name)).toArray();
    return pointer ?? null;
  }

  put({ mountAccessor, name }: AliasPlace, entityId: string): void {
    const statement = "INSERT OR REPLACE INTO pointers (alias_mount, alias_key, entity_id, claim) VALUES (?, ?, ?, ?)";
    this.#sql.exec(statement, mountAccessor, nameKey(name), entityId, crypto.randomUUID());
  }

  release({ mountAccessor, name }: AliasPlace, entityId: string): void {
    const statement = "DELETE FROM pointers WHERE alias_mount = ? AND alias_key = ? AND entity_id = ?";
    this.#sql.exec(statement, mountAccessor, nameKey(name), entityId);
  }

  /** Deletes the pointer if its claim is still that of the holder. */
  drop({ mountAccessor, name }: AliasPlace, { claim }: AliasOwner): void {
    const statement = "DELETE FROM pointers WHERE alias_mount = ? AND alias_key = ? AND claim = ?";
    this.#sql.exec(statement, mountAccessor, nameKey(name), claim);
  }

  /** Returns at most `limit` ids of moved aliases after `after`, in order, with the entities that have them. */
  moved(after: string, limit: number): MovedAlias[] {
    const query = `SELECT alias_key AS id, entity_id AS movedTo FROM pointers
      WHERE alias_mount = ? AND alias_key > ? ORDER BY alias_key LIMIT ?`;
    return this.#sql.exec<Record<keyof MovedAlias, string>>(query, BY_ALIAS_ID, after, limit).toArray();
  }
}
