import { nameKey } from "../../base/name.ts";
import type { RowSeals } from "../../storage/row-seals.ts";
import { SealedTable, type TableShape, type WithSeal } from "../../storage/sealed-table.ts";
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
  /** The alias by whose name this shard finds the entity; null when its aliases are found by pointers only. */
  alias_mount: string | null;
  /** In lower case. */
  alias_key: string | null;
  /** As in `Entity`. */
  name: string | null;
  /** The rest of `Entity`, as JSON. */
  content: string;
  directory_version: number;
  revision: number;
}

/** An entity with what its shard notes beside it. */
export interface StoredEntity {
  readonly entity: Entity;
  /** The alias by whose name this shard finds it without a pointer; null for none. */
  readonly indexed: AliasPlace | null;
  /** Of what the directory said last about it. */
  readonly directoryVersion: number;
  /** Another one after every change. */
  readonly revision: number;
}

/** "tampered": this installation did not write the row. */
export type FoundEntity = StoredEntity | "tampered" | null;

const SHAPE: TableShape = {
  table: "entities",
  kind: "entity",
  key: ["id"],
  sealed: ["alias_mount", "alias_key", "name", "content", "directory_version"],
};

/** The table of the entities of a shard: a row each, with all that is known of it, so that requests read one row. */
export class EntityStore {
  readonly #sql: Sql;
  readonly #sealed: SealedTable<Columns>;

  constructor(sql: Sql, seals: RowSeals) {
    this.#sql = sql;
    this.#sealed = new SealedTable(sql, seals, SHAPE);
  }

  byId(id: string): FoundEntity {
    return this.#one("WHERE id = ?", id);
  }

  /** The entity that is found by the name of an alias without a pointer. */
  byAlias({ mountAccessor, name }: AliasPlace): FoundEntity {
    // Without the limit SQLite looks at the next row too: a unique index of columns that can be null does not end a search.
    return this.#one("WHERE alias_mount = ? AND alias_key = ? LIMIT 1", mountAccessor, nameKey(name));
  }

  /** The id of that entity, also when its row was tampered with. */
  idByAlias({ mountAccessor, name }: AliasPlace): string | null {
    const query = "SELECT id FROM entities WHERE alias_mount = ? AND alias_key = ? LIMIT 1";
    return columnOf<string>(this.#sql, query, mountAccessor, nameKey(name))[0] ?? null;
  }

  /** At most `limit` with ids from `first` on, in their order. */
  list(first: string, limit: number): Entity[] {
    return this.#sealed.list("WHERE id >= ? ORDER BY id LIMIT ?", first, limit).map(entityOf);
  }

  /** Those of them that no operator has named. */
  listUnnamed(first: string, limit: number): Entity[] {
    return this.#sealed.list("WHERE id >= ? AND name IS NULL ORDER BY id LIMIT ?", first, limit).map(entityOf);
  }

  /** How many there are, counted up to `most`: each costs the reading of a row. */
  count(most: number): number {
    return columnOf<number>(this.#sql, "SELECT COUNT(*) FROM (SELECT 1 FROM entities LIMIT ?)", most)[0] ?? 0;
  }

  /** Those with this policy among the first `most`. */
  withPolicy(policy: string, most: number): Entity[] {
    const query = "SELECT * FROM (SELECT * FROM entities ORDER BY id LIMIT ?) WHERE instr(content, ?) > 0";
    const rows = this.#sql.exec<WithSeal<Columns>>(query, most, JSON.stringify(policy));
    const entities = this.#sealed.admitted(rows.toArray()).map(entityOf);
    return entities.filter(({ policies }) => policies.includes(policy));
  }

  /** Adds an entity. @param indexed the alias by whose name this shard shall find it. */
  insert(entity: Entity, indexed: AliasPlace | null): StoredEntity {
    const row = columnsOf(entity, indexed, 0);
    const { id, alias_mount: mount, alias_key: key, name, content } = row;
    const statement = `INSERT INTO entities (id, alias_mount, alias_key, name, content, directory_version, revision, seal)
      VALUES (?, ?, ?, ?, ?, 0, ${RANDOM_REVISION}, ?) RETURNING revision`;
    const seal = this.#sealed.sealOf(row);
    const [revision = 0] = columnOf<number>(this.#sql, statement, id, mount, key, name, content, seal);
    return { entity, indexed, directoryVersion: 0, revision };
  }

  /** Stores what became of an entity. This shard finds it by the name of an alias as long as it has this one. */
  update({ indexed, ...before }: StoredEntity, entity: Entity, version = before.directoryVersion): StoredEntity {
    const isIndexed = indexed !== null && entity.aliases.some((alias) => isSamePlace(alias, indexed));
    if (indexed && !isIndexed) this.#dropFromIndex(entity.id);
    return this.#write(entity, isIndexed ? indexed : null, version);
  }

  /** Makes this shard find an entity by pointers only. */
  removeFromIndex({ entity, directoryVersion }: StoredEntity): void {
    this.#dropFromIndex(entity.id);
    this.#write(entity, null, directoryVersion);
  }

  /** Deletes an entity, also one that was tampered with. */
  delete(id: string): void {
    this.#sealed.delete(id);
  }

  /** Apart from `#write`, which so leaves the index alone. */
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
