import { nameKey } from "../../base/case-folding.ts";
import type { RowSeals } from "../../storage/row-seals.ts";
import { SealedTable, type WithSeal } from "../../storage/sealed-table.ts";
import { columnOf, type Migration, RANDOM_REVISION, type Sql, storedJson } from "../../storage/tables.ts";
import type { AliasPlace, AliasRecord } from "../model.ts";
import { type Entity, isSamePlace, recordOf } from "./entity.ts";
import { entityPrefixOf } from "./sharding.ts";

export const ENTITY_SHARD_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "entities, and which entities have the aliases whose names lead here",
    sql: `
      CREATE TABLE entities (
        id TEXT PRIMARY KEY,
        alias_mount TEXT,
        alias_key TEXT,
        name TEXT,
        content TEXT NOT NULL,
        directory_version INTEGER NOT NULL,
        revision INTEGER NOT NULL,
        seal BLOB
      ) WITHOUT ROWID;
      CREATE UNIQUE INDEX entities_by_alias ON entities (alias_mount, alias_key) WHERE alias_mount IS NOT NULL;
      CREATE TABLE pointers (
        alias_mount TEXT NOT NULL,
        alias_key TEXT NOT NULL,
        entity_id TEXT NOT NULL,
        claim TEXT NOT NULL,
        PRIMARY KEY (alias_mount, alias_key)
      ) WITHOUT ROWID;
    `,
  },
];

interface Columns extends Record<string, SqlStorageValue> {
  id: string;
  /** Mount of the alias that is in this shard's index; null when the entity is found by pointers only. */
  alias_mount: string | null;
  alias_key: string | null;
  name: string | null;
  /** The other fields of `Entity`, as JSON. */
  content: string;
  directory_version: number;
  revision: number;
}

/** An entity with the metadata of its row. */
export interface StoredEntity {
  readonly entity: Entity;
  /** The alias by which this shard finds it without a pointer; null for none. */
  readonly indexed: AliasPlace | null;
  /** Version of the last directory entry that was stored; 0 before the first. */
  readonly directoryVersion: number;
  /** Random; changes with every write of the row. */
  readonly revision: number;
}

/** "tampered": this installation did not write the row. */
export type FoundEntity = StoredEntity | "tampered" | null;

/** The entity that the name of an alias leads to. Only the entity's own shard knows whether it has the alias. */
export interface AliasOwner {
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

const PAGE = 100;

/**
 * The tables of a shard. A row of an entity has all its data, so that a request reads one row.
 *
 * The shard also has the index of the aliases whose names lead to it. An alias is valid only when its name leads to an
 * entity and that entity's row has the alias. A pointer alone proves nothing, so pointers need no seals.
 */
export class EntityStore {
  readonly #sql: Sql;
  readonly #sealed: SealedTable<Columns>;

  constructor(sql: Sql, seals: RowSeals) {
    this.#sql = sql;
    const sealed = ["alias_mount", "alias_key", "name", "content", "directory_version"];
    this.#sealed = new SealedTable(sql, seals, { table: "entities", kind: "entity", key: ["id"], sealed });
  }

  byId(id: string): FoundEntity {
    return this.#one("WHERE id = ?", id);
  }

  #byAlias({ mountAccessor, name }: AliasPlace): FoundEntity {
    // Without LIMIT SQLite reads one row more: a unique index on nullable columns does not end a search at its match.
    return this.#one("WHERE alias_mount = ? AND alias_key = ? LIMIT 1", mountAccessor, nameKey(name));
  }

  /** Returns the id of the entity that `#byAlias` finds, also when its row was tampered with. */
  #idByAlias({ mountAccessor, name }: AliasPlace): string | null {
    const query = "SELECT id FROM entities WHERE alias_mount = ? AND alias_key = ? LIMIT 1";
    return columnOf<string>(this.#sql, query, mountAccessor, nameKey(name))[0] ?? null;
  }

  /**
   * Returns at most `limit` entities with ids from `first` on, in order. `unnamed`: only those without a given name.
   */
  list(first: string, limit: number, unnamed = false): Entity[] {
    const which = unnamed ? "WHERE id >= ? AND name IS NULL" : "WHERE id >= ?";
    return this.#sealed.list(`${which} ORDER BY id LIMIT ?`, first, limit).map(entityOf);
  }

  /** Counts the entities, up to `most`: each costs the read of one row. */
  count(most: number): number {
    return columnOf<number>(this.#sql, "SELECT COUNT(*) FROM (SELECT 1 FROM entities LIMIT ?)", most)[0] ?? 0;
  }

  withPolicy(policy: string, most: number): Entity[] {
    const query = "SELECT * FROM (SELECT * FROM entities ORDER BY id LIMIT ?) WHERE instr(content, ?) > 0";
    const rows = this.#sql.exec<WithSeal<Columns>>(query, most, JSON.stringify(policy));
    const entities = this.#sealed.admitted(rows.toArray()).map(entityOf);
    return entities.filter(({ policies }) => policies.includes(policy));
  }

  /** Adds an entity. @param indexed the alias for the index of this shard; null for none. */
  insert(entity: Entity, indexed: AliasPlace | null): StoredEntity {
    const row = columnsOf(entity, indexed, 0);
    const { id, alias_mount: mount, alias_key: key, name, content } = row;
    const statement = `INSERT INTO entities (id, alias_mount, alias_key, name, content, directory_version, revision, seal)
      VALUES (?, ?, ?, ?, ?, 0, ${RANDOM_REVISION}, ?) RETURNING revision`;
    const seal = this.#sealed.sealOf(row);
    const [revision = 0] = columnOf<number>(this.#sql, statement, id, mount, key, name, content, seal);
    return { entity, indexed, directoryVersion: 0, revision };
  }

  /** Stores a changed entity. It stays in the index as long as it has the indexed alias. */
  update({ indexed, ...before }: StoredEntity, entity: Entity, version = before.directoryVersion): StoredEntity {
    const isIndexed = indexed !== null && entity.aliases.some((alias) => isSamePlace(alias, indexed));
    if (indexed && !isIndexed) this.#dropFromIndex(entity.id);
    return this.#write(entity, isIndexed ? indexed : null, version);
  }

  delete(id: string): void {
    this.#sealed.delete(id);
  }

  /** Returns the entity itself when this shard finds it by the alias, else the entity that its pointer leads to. */
  find(place: AliasPlace): FoundEntity | AliasOwner {
    return this.#byAlias(place) ?? this.#pointer(place);
  }

  holder(place: AliasPlace): AliasOwner | null {
    const entityId = this.#idByAlias(place);
    return entityId === null ? this.#pointer(place) : { entityId, claim: null };
  }

  /**
   * Makes the name of an alias lead to an entity, unless it leads to another. Returns null, or the current holder.
   * @param instead a holder that may be replaced if its claim is unchanged: the caller found that it does not have the
   *   alias, or moves the alias away from it.
   */
  claim(place: AliasPlace, entityId: string, instead: AliasOwner | null): AliasOwner | null {
    const holder = this.holder(place);
    const isInTheWay = holder !== null && holder.entityId !== entityId;
    if (isInTheWay && !(holder.entityId === instead?.entityId && holder.claim === instead.claim)) return holder;
    if (holder?.entityId === entityId && holder.claim === null) return null;
    this.#takeFromIndex(place);
    const statement = "INSERT OR REPLACE INTO pointers (alias_mount, alias_key, entity_id, claim) VALUES (?, ?, ?, ?)";
    this.#sql.exec(statement, place.mountAccessor, nameKey(place.name), entityId, crypto.randomUUID());
    return null;
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

  search({ key, id }: NamePart, limit: number): string[] {
    const query = `SELECT id FROM entities WHERE instr(alias_key, ?1) > 0 OR instr(replace(id, '-', ''), ?2) > 0
      UNION SELECT entity_id FROM pointers WHERE alias_mount <> '' AND instr(alias_key, ?1) > 0 LIMIT ?3`;
    return columnOf(this.#sql, query, key, id, limit);
  }

  havingPart(ids: readonly string[], { key, id: digits }: NamePart): string[] {
    return ids.filter((id) => {
      const found = this.byId(id);
      if (found === null || found === "tampered") return false;
      const isInId = digits !== null && id.replaceAll("-", "").includes(digits);
      return isInId || found.entity.aliases.some(({ name }) => nameKey(name).includes(key));
    });
  }

  aliasById(id: string): AliasOrMoved | null {
    const prefix = entityPrefixOf(id);
    for (const entity of this.list(prefix, PAGE)) {
      if (!entity.id.startsWith(prefix)) break;
      const alias = recordOf(entity).aliases.find((one) => one.id === id);
      if (alias) return alias;
    }
    const pointer = this.holder({ mountAccessor: BY_ALIAS_ID, name: id });
    return pointer && { id, movedTo: pointer.entityId };
  }

  listAliases(after: string, limit: number): AliasOrMoved[] {
    const own: AliasRecord[] = [];
    for (let first = entityPrefixOf(after); own.length < limit; ) {
      const page = this.list(first, PAGE);
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

  #pointer({ mountAccessor, name }: AliasPlace): AliasOwner | null {
    const query = "SELECT entity_id AS entityId, claim FROM pointers WHERE alias_mount = ? AND alias_key = ?";
    return (
      this.#sql.exec<{ entityId: string; claim: string }>(query, mountAccessor, nameKey(name)).toArray()[0] ?? null
    );
  }

  /** Removes the entity with this alias from the index, so that a pointer can replace it. Deletes a tampered row. */
  #takeFromIndex(place: AliasPlace): void {
    const found = this.#byAlias(place);
    const id = this.#idByAlias(place);
    if (found === "tampered" && id !== null) this.delete(id);
    else if (found !== null && found !== "tampered") {
      this.#dropFromIndex(found.entity.id);
      this.#write(found.entity, null, found.directoryVersion);
    }
  }

  /** A statement of its own, so that `#write` does not write the columns of the index. */
  #dropFromIndex(id: string): void {
    this.#sql.exec("UPDATE entities SET alias_mount = NULL, alias_key = NULL WHERE id = ?", id);
  }

  #write(entity: Entity, indexed: AliasPlace | null, directoryVersion: number): StoredEntity {
    const row = columnsOf(entity, indexed, directoryVersion);
    const set = `name = ?, content = ?, directory_version = ?, revision = ${RANDOM_REVISION}, seal = ?`;
    const values = [row.name, row.content, directoryVersion, this.#sealed.sealOf(row), row.id];
    const statement = `UPDATE entities SET ${set} WHERE id = ? RETURNING revision`;
    const [revision = 0] = columnOf<number>(this.#sql, statement, ...values);
    return { entity, indexed, directoryVersion, revision };
  }

  #one(which: string, ...values: string[]): FoundEntity {
    const { good, tampered } = this.#sealed.judged(which, ...values);
    if (tampered.length > 0) return "tampered";
    const [row] = good;
    if (!row) return null;
    const { alias_mount: mountAccessor, alias_key: name, directory_version: directoryVersion, revision } = row;
    const indexed = mountAccessor === null || name === null ? null : { mountAccessor, name };
    return { entity: entityOf(row), indexed, directoryVersion, revision };
  }
}

function columnsOf(entity: Entity, indexed: AliasPlace | null, directoryVersion: number): Columns {
  const { id, name, mergedIds, ...fields } = entity;
  const content = mergedIds.length === 0 ? fields : { ...fields, mergedIds };
  return {
    id,
    alias_mount: indexed?.mountAccessor ?? null,
    alias_key: indexed && nameKey(indexed.name),
    name,
    content: JSON.stringify(content),
    directory_version: directoryVersion,
    revision: 0,
  };
}

function entityOf({ id, name, content }: Columns): Entity {
  return { mergedIds: [], ...storedJson<Omit<Entity, "id" | "name" | "mergedIds">>(content), id, name };
}
