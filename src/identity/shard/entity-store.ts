import { nameKey } from "../../base/name.ts";
import type { RowSeals } from "../../storage/row-seals.ts";
import { SealedTable, type WithSeal } from "../../storage/sealed-table.ts";
import { columnOf, type Migration, RANDOM_REVISION, type Sql, storedJson } from "../../storage/tables.ts";
import type { AliasPlace } from "../model.ts";
import { type Entity, isSamePlace } from "./entity.ts";

/** The schema of a shard of entities. */
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
  /** Name of that alias in lower case. */
  alias_key: string | null;
  /** As in `Entity`. */
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

/** The table of the entities of a shard. A row has all data of its entity, so that a request reads one row. */
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

  /** Returns the entity that the index finds by an alias, without a pointer. */
  byAlias({ mountAccessor, name }: AliasPlace): FoundEntity {
    // Without LIMIT SQLite reads one row more: a unique index on nullable columns does not end a search at its match.
    return this.#one("WHERE alias_mount = ? AND alias_key = ? LIMIT 1", mountAccessor, nameKey(name));
  }

  /** Returns the id of the entity that `byAlias` finds, also when its row was tampered with. */
  idByAlias({ mountAccessor, name }: AliasPlace): string | null {
    const query = "SELECT id FROM entities WHERE alias_mount = ? AND alias_key = ? LIMIT 1";
    return columnOf<string>(this.#sql, query, mountAccessor, nameKey(name))[0] ?? null;
  }

  /** Returns at most `limit` entities with ids from `first` on, in order. */
  list(first: string, limit: number): Entity[] {
    return this.#sealed.list("WHERE id >= ? ORDER BY id LIMIT ?", first, limit).map(entityOf);
  }

  /** Like `list`, for entities that no operator has named. */
  listUnnamed(first: string, limit: number): Entity[] {
    return this.#sealed.list("WHERE id >= ? AND name IS NULL ORDER BY id LIMIT ?", first, limit).map(entityOf);
  }

  /** Counts the entities, up to `most`: each costs the read of one row. */
  count(most: number): number {
    return columnOf<number>(this.#sql, "SELECT COUNT(*) FROM (SELECT 1 FROM entities LIMIT ?)", most)[0] ?? 0;
  }

  /** Returns the entities with this policy among the first `most`. */
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

  /** Removes an entity from the index: from then on it is found by pointers only. */
  removeFromIndex({ entity, directoryVersion }: StoredEntity): void {
    this.#dropFromIndex(entity.id);
    this.#write(entity, null, directoryVersion);
  }

  /** Deletes an entity, also a tampered one. */
  delete(id: string): void {
    this.#sealed.delete(id);
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
  const { id, name, ...content } = entity;
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
  return { ...storedJson<Omit<Entity, "id" | "name">>(content), id, name };
}
