import { nameKey } from "../../base/name.ts";
import { columnOf, type Sql } from "../../storage/tables.ts";
import type { AliasPlace, AliasRecord } from "../model.ts";
import { recordOf } from "./entity.ts";
import type { EntityStore, FoundEntity } from "./entity-store.ts";
import { entityPrefixOf } from "./place.ts";

/** The entity that the name of an alias leads to. Only the entity's own shard knows whether it has the alias. */
export interface Holder {
  readonly entityId: string;
  /** Random value of the last write of the pointer (compare-and-swap); null when the entity was found without one. */
  readonly claim: string | null;
}

/** A search text: a part of a name or of an id. */
export interface NamePart {
  /** As `nameKey` returns it: the form in which names are compared. */
  readonly key: string;
  /** Hex digits of an id, without dashes; null for a text that can't be a part of an id. */
  readonly id: string | null;
}

/** An alias; or its id, which was generated for its first entity, and the entity to which an operator moved it. */
export type AliasOrMoved = AliasRecord | { readonly id: string; readonly movedTo: string };

/** Mount accessor of pointers that are keyed by the id of a moved alias. No mount has an empty accessor. */
export const BY_ALIAS_ID = "";

/** Number of entities that one query reads. */
const PAGE = 100;

/**
 * The index of aliases in the shard that their names lead to. An alias is valid only when its name leads to an entity
 * and that entity's row has the alias. A pointer alone proves nothing, so pointers need no seals.
 */
export class AliasIndex {
  readonly #sql: Sql;
  readonly #entities: EntityStore;

  constructor(sql: Sql, entities: EntityStore) {
    this.#sql = sql;
    this.#entities = entities;
  }

  /** Returns the entity itself when this shard finds it by the alias, else the entity that its pointer leads to. */
  find(place: AliasPlace): FoundEntity | Holder {
    return this.#entities.byAlias(place) ?? this.#pointer(place);
  }

  /** Returns the entity that may have the alias; null when the name leads to none. */
  holder(place: AliasPlace): Holder | null {
    const entityId = this.#entities.idByAlias(place);
    return entityId === null ? this.#pointer(place) : { entityId, claim: null };
  }

  /**
   * Makes the name of an alias lead to an entity, unless it leads to another entity.
   *
   * @param instead a holder that may be replaced: the caller found that it does not have the alias, or moves the alias
   *   away from it. It is replaced only if its claim is unchanged.
   * @returns null on success, else the current holder.
   */
  claim(place: AliasPlace, entityId: string, instead: Holder | null): Holder | null {
    const holder = this.holder(place);
    const isInTheWay = holder !== null && holder.entityId !== entityId;
    if (isInTheWay && !(holder.entityId === instead?.entityId && holder.claim === instead.claim)) return holder;
    if (holder?.entityId === entityId && holder.claim === null) return null;
    this.#dropFromEntities(place);
    const statement = "INSERT OR REPLACE INTO pointers (alias_mount, alias_key, entity_id, claim) VALUES (?, ?, ?, ?)";
    this.#sql.exec(statement, place.mountAccessor, nameKey(place.name), entityId, crypto.randomUUID());
    return null;
  }

  /** Deletes the pointer from the name of an alias to the entity, if there is one. Safe to repeat. */
  release({ mountAccessor, name }: AliasPlace, entityId: string): void {
    const statement = "DELETE FROM pointers WHERE alias_mount = ? AND alias_key = ? AND entity_id = ?";
    this.#sql.exec(statement, mountAccessor, nameKey(name), entityId);
  }

  /** Deletes the pointer if its claim is still that of the holder. @returns false when it was replaced or deleted. */
  drop({ mountAccessor, name }: AliasPlace, { claim }: Holder): boolean {
    const statement = "DELETE FROM pointers WHERE alias_mount = ? AND alias_key = ? AND claim = ?";
    return this.#sql.exec(statement, mountAccessor, nameKey(name), claim).rowsWritten > 0;
  }

  /** Returns at most `limit` ids of entities that have the part in their ids, or may have it in an alias name. */
  search({ key, id }: NamePart, limit: number): string[] {
    const query = `SELECT id FROM entities WHERE instr(alias_key, ?1) > 0 OR instr(replace(id, '-', ''), ?2) > 0
      UNION SELECT entity_id FROM pointers WHERE alias_mount <> '' AND instr(alias_key, ?1) > 0 LIMIT ?3`;
    return columnOf(this.#sql, query, key, id, limit);
  }

  /** Filters entities of this shard: those that have the part in their ids, or in the names of their aliases. */
  havingPart(ids: readonly string[], { key, id: digits }: NamePart): string[] {
    return ids.filter((id) => {
      const found = this.#entities.byId(id);
      if (found === null || found === "tampered") return false;
      const isInId = digits !== null && id.replaceAll("-", "").includes(digits);
      return isInId || found.entity.aliases.some(({ name }) => nameKey(name).includes(key));
    });
  }

  /** Returns the alias with an id that was generated for an entity of this shard; null when there is none. */
  byId(id: string): AliasOrMoved | null {
    const prefix = entityPrefixOf(id);
    for (const entity of this.#entities.list(prefix, PAGE)) {
      if (!entity.id.startsWith(prefix)) break;
      const alias = recordOf(entity).aliases.find((one) => one.id === id);
      if (alias) return alias;
    }
    const pointer = this.holder({ mountAccessor: BY_ALIAS_ID, name: id });
    return pointer && { id, movedTo: pointer.entityId };
  }

  /** Returns at most `limit` aliases after the id `after`, in order, with ids generated for entities of this shard. */
  list(after: string, limit: number): AliasOrMoved[] {
    const own: AliasRecord[] = [];
    for (let first = entityPrefixOf(after); own.length < limit; ) {
      const page = this.#entities.list(first, PAGE);
      const aliases = page.flatMap((entity) => recordOf(entity).aliases);
      own.push(...aliases.filter(({ id, entityId }) => id > after && entityPrefixOf(id) === entityPrefixOf(entityId)));
      const last = page.at(-1);
      if (!last || page.length < PAGE) break;
      // The least text that is greater than the last id.
      first = `${last.id}\0`;
    }
    const query = `SELECT alias_key AS id, entity_id AS movedTo FROM pointers
      WHERE alias_mount = ? AND alias_key > ? ORDER BY alias_key LIMIT ?`;
    const moved = this.#sql.exec<{ id: string; movedTo: string }>(query, BY_ALIAS_ID, after, limit).toArray();
    return [...own, ...moved].sort((a, b) => (a.id < b.id ? -1 : 1)).slice(0, limit);
  }

  #pointer({ mountAccessor, name }: AliasPlace): Holder | null {
    const query = "SELECT entity_id AS entityId, claim FROM pointers WHERE alias_mount = ? AND alias_key = ?";
    return (
      this.#sql.exec<{ entityId: string; claim: string }>(query, mountAccessor, nameKey(name)).toArray()[0] ?? null
    );
  }

  /** Removes the entity with this alias from the index, so that a pointer can replace it. Deletes a tampered row. */
  #dropFromEntities(place: AliasPlace): void {
    const found = this.#entities.byAlias(place);
    const id = this.#entities.idByAlias(place);
    if (found === "tampered" && id !== null) this.#entities.delete(id);
    else if (found !== null && found !== "tampered") this.#entities.removeFromIndex(found);
  }
}
