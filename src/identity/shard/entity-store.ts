import { nameKey } from "../../base/case-folding.ts";
import { err, invalid, ok, type Result } from "../../base/result.ts";
import type { RowSeals } from "../../storage/row-seals.ts";
import { SealedTable, type WithSeal } from "../../storage/sealed-table.ts";
import { columnOf, RANDOM_REVISION, type Sql, storedJson } from "../../storage/tables.ts";
import type { AliasPlace } from "../model.ts";
import { isSamePlace, isTooLarge, MAX_ALIAS_CHARACTERS } from "./alias-rules.ts";
import type { Entity } from "./entity.ts";

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

export const TOO_LARGE = invalid(`the aliases of an entity must not have more than ${MAX_ALIAS_CHARACTERS} characters`);

/**
 * The entities of a shard. A row has all data of an entity, so that a request reads one row. It is in the index by alias
 * when the name of one of its aliases leads to this shard, see `AliasOwners`.
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

  /** The entity of this id, if its row is as this installation wrote it; else null. */
  good(id: string): StoredEntity | null {
    const found = this.byId(id);
    return isGood(found) ? found : null;
  }

  byAlias({ mountAccessor, name }: AliasPlace): FoundEntity {
    // Without LIMIT SQLite reads one row more: a unique index on nullable columns does not end a search at its match.
    return this.#one("WHERE alias_mount = ? AND alias_key = ? LIMIT 1", mountAccessor, nameKey(name));
  }

  /** Returns the id of the entity that `byAlias` finds, also when its row was tampered with. */
  idByAlias({ mountAccessor, name }: AliasPlace): string | null {
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

  /** `update` for changed aliases: a refusal (400) when they become too large. */
  updateBounded(found: StoredEntity, entity: Entity): Result<StoredEntity> {
    return isTooLarge(entity) ? err(TOO_LARGE) : ok(this.update(found, entity));
  }

  delete(id: string): void {
    this.#sealed.delete(id);
  }

  /** Removes the entity with this alias from the index, so that a pointer can replace it. Deletes a tampered row. */
  takeFromIndex(place: AliasPlace): void {
    const found = this.byAlias(place);
    const id = this.idByAlias(place);
    if (found === "tampered" && id !== null) this.delete(id);
    else if (isGood(found)) {
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

/** True for an entity whose row is as this installation wrote it. */
export function isGood(found: FoundEntity): found is StoredEntity {
  return found !== null && found !== "tampered";
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
