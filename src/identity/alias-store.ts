import { nameKey } from "../base/name.ts";
import { metadataOf } from "./entity-store.ts";
import type { AliasRecord, Metadata } from "./model.ts";

interface AliasRow extends Record<string, SqlStorageValue> {
  id: string;
  entity_id: string;
  name: string;
  name_key: string;
  mount_accessor: string;
  metadata: string;
  custom_metadata: string;
  created_at: number;
  updated_at: number;
}

/** The table of aliases. */
export class AliasStore {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  byId(id: string): AliasRecord | null {
    return this.#one("SELECT * FROM aliases WHERE id = ?", id);
  }

  /** The alias with this name on this mount, whatever the case of the name. */
  byName(mountAccessor: string, name: string): AliasRecord | null {
    return this.#one("SELECT * FROM aliases WHERE mount_accessor = ? AND name_key = ?", mountAccessor, nameKey(name));
  }

  ofEntityOnMount(entityId: string, mountAccessor: string): AliasRecord | null {
    return this.#one("SELECT * FROM aliases WHERE entity_id = ? AND mount_accessor = ?", entityId, mountAccessor);
  }

  /** All aliases of the entities. */
  ofEntities(entityIds: readonly string[]): AliasRecord[] {
    return this.#sql
      .exec<AliasRow>(
        "SELECT * FROM aliases WHERE entity_id IN (SELECT value FROM json_each(?)) ORDER BY created_at, id",
        JSON.stringify(entityIds),
      )
      .toArray()
      .map(aliasOfRow);
  }

  /** At most `limit` after the id `after`. */
  list(after: string, limit: number): AliasRecord[] {
    return this.#sql
      .exec<AliasRow>("SELECT * FROM aliases WHERE id > ? ORDER BY id LIMIT ?", after, limit)
      .toArray()
      .map(aliasOfRow);
  }

  /** Creates or replaces an alias. */
  write(alias: AliasRecord): void {
    this.#sql.exec(
      `INSERT INTO aliases
         (id, entity_id, name, name_key, mount_accessor, metadata, custom_metadata, created_at, updated_at)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (id) DO UPDATE SET entity_id = excluded.entity_id, name = excluded.name,
         name_key = excluded.name_key, mount_accessor = excluded.mount_accessor, metadata = excluded.metadata,
         custom_metadata = excluded.custom_metadata, updated_at = excluded.updated_at`,
      alias.id,
      alias.entityId,
      alias.name,
      nameKey(alias.name),
      alias.mountAccessor,
      JSON.stringify(alias.metadata),
      JSON.stringify(alias.customMetadata),
      alias.createdAt,
      alias.updatedAt,
    );
  }

  delete(id: string): void {
    this.#sql.exec("DELETE FROM aliases WHERE id = ?", id);
  }

  deleteOfEntity(entityId: string): void {
    this.#sql.exec("DELETE FROM aliases WHERE entity_id = ?", entityId);
  }

  #one(query: string, ...values: string[]): AliasRecord | null {
    const row = this.#sql.exec<AliasRow>(query, ...values).toArray()[0];
    return row ? aliasOfRow(row) : null;
  }
}

/** True when both hold the same names with the same values. */
export function sameMetadata(a: Metadata, b: Metadata): boolean {
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => Object.hasOwn(b, name) && a[name] === b[name]);
}

function aliasOfRow(row: AliasRow): AliasRecord {
  return {
    id: row.id,
    entityId: row.entity_id,
    name: row.name,
    mountAccessor: row.mount_accessor,
    metadata: metadataOf(row.metadata),
    customMetadata: metadataOf(row.custom_metadata),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
