import { nameKey } from "../../base/name.ts";
import { columnOf, type Sql } from "../../storage/tables.ts";
import type { AliasPlace, AliasRecord } from "../model.ts";
import { recordOf } from "./entity.ts";
import type { EntityStore, FoundEntity } from "./entity-store.ts";
import { entityPrefixOf } from "./place.ts";

/** The entity that the shard of an alias's name leads to. Whether it has the alias, only its own shard says. */
export interface Holder {
  readonly entityId: string;
  /** Drawn anew with every write of the pointer; null when the entity is in the same shard, and needs none. */
  readonly claim: string | null;
}

/** A part of a name that is looked for. */
export interface NamePart {
  /** In the form in which names are compared. */
  readonly key: string;
  /** Digits of an id, without dashes; null for a text that is no part of one. */
  readonly id: string | null;
}

/** An alias, or where it is by now. */
export type AliasOrMoved = AliasRecord | MovedAlias;

/** An alias that an operator has moved to another entity than the one for which its id was drawn. */
interface MovedAlias {
  readonly id: string;
  readonly movedTo: string;
}

/** Pointers by the ids of moved aliases have this in place of a mount: no mount has such an accessor. */
export const BY_ALIAS_ID = "";

/** Entities that are read at once. */
const PAGE = 100;

/**
 * Which entities the names of aliases lead to, in the shard that the names say. An alias holds when its name leads to an entity
 * which has it: what only one of the two says counts for nothing. So the pointers need no seals.
 */
export class AliasIndex {
  readonly #sql: Sql;
  readonly #entities: EntityStore;

  constructor(sql: Sql, entities: EntityStore) {
    this.#sql = sql;
    this.#entities = entities;
  }

  /** What a login by the alias finds: the entity itself when it is here, else who may have the alias. */
  find(place: AliasPlace): FoundEntity | Holder {
    return this.#entities.byAlias(place) ?? this.#pointer(place);
  }

  /** Who may have the alias; null when it is free. */
  holder(place: AliasPlace): Holder | null {
    const entityId = this.#entities.idByAlias(place);
    return entityId === null ? this.#pointer(place) : { entityId, claim: null };
  }

  /**
   * Makes the name of an alias lead to an entity, unless it leads to another one.
   *
   * @param instead of whom: a holder that the caller has seen, and found not to have the alias or to give it away.
   * @returns null when it does now, else the holder.
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

  /** Makes the name of an alias lead nowhere if it leads to the entity by a pointer. Safe to repeat. */
  release({ mountAccessor, name }: AliasPlace, entityId: string): void {
    const statement = "DELETE FROM pointers WHERE alias_mount = ? AND alias_key = ? AND entity_id = ?";
    this.#sql.exec(statement, mountAccessor, nameKey(name), entityId);
  }

  /** Drops the pointer that `instead` is. @returns false when it is another one by now. */
  drop({ mountAccessor, name }: AliasPlace, { claim }: Holder): boolean {
    const statement = "DELETE FROM pointers WHERE alias_mount = ? AND alias_key = ? AND claim = ?";
    return this.#sql.exec(statement, mountAccessor, nameKey(name), claim).rowsWritten > 0;
  }

  /** At most `limit` ids of entities that may have an alias with the part in its name, or have it in their ids. */
  search({ key, id }: NamePart, limit: number): string[] {
    const query = `SELECT id FROM entities WHERE instr(alias_key, ?1) > 0 OR instr(replace(id, '-', ''), ?2) > 0
      UNION SELECT entity_id FROM pointers WHERE alias_mount <> '' AND instr(alias_key, ?1) > 0 LIMIT ?3`;
    return columnOf(this.#sql, query, key, id, limit);
  }

  /** Those of the entities that have the part in their ids, or in the names of their aliases. */
  havingPart(ids: readonly string[], { key, id: digits }: NamePart): string[] {
    return ids.filter((id) => {
      const found = this.#entities.byId(id);
      if (found === null || found === "tampered") return false;
      const isInId = digits !== null && id.replaceAll("-", "").includes(digits);
      return isInId || found.entity.aliases.some(({ name }) => nameKey(name).includes(key));
    });
  }

  /** The alias with an id that this shard drew; null when there is none. */
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

  /** At most `limit` aliases with ids that this shard drew, after the id `after`, in their order. */
  list(after: string, limit: number): AliasOrMoved[] {
    const own: AliasRecord[] = [];
    for (let first = entityPrefixOf(after); own.length < limit; ) {
      const page = this.#entities.list(first, PAGE);
      const aliases = page.flatMap((entity) => recordOf(entity).aliases);
      own.push(...aliases.filter(({ id, entityId }) => id > after && entityPrefixOf(id) === entityPrefixOf(entityId)));
      const last = page.at(-1);
      if (!last || page.length < PAGE) break;
      // The least text after it.
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

  /** Makes the entity that was found by the name need a pointer. One that was tampered with goes: it is of no use to anybody. */
  #dropFromEntities(place: AliasPlace): void {
    const found = this.#entities.byAlias(place);
    const id = this.#entities.idByAlias(place);
    if (found === "tampered" && id !== null) this.#entities.delete(id);
    else if (found !== null && found !== "tampered") this.#entities.removeFromIndex(found);
  }
}
