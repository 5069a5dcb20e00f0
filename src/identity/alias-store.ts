import { nameKey } from "../base/name.ts";
import type { RowSeals } from "../storage/row-seals.ts";
import { SealedTable, type TableShape, type WithSeal } from "../storage/sealed-table.ts";
import { metadataOf } from "./entity-store.ts";
import type { ChangeNotes } from "./lending.ts";
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

const SHAPE: TableShape = {
  table: "aliases",
  kind: "alias",
  key: ["id"],
  sealed: ["entity_id", "name", "name_key", "mount_accessor", "metadata", "custom_metadata"],
};

/** The table of aliases. Rows that were tampered with count as absent, but for `isTaken`. */
export class AliasStore {
  readonly #sql: SqlStorage;
  /** The table as seals see it. */
  readonly sealed: SealedTable<AliasRow>;
  readonly #notes: ChangeNotes;

  constructor(sql: SqlStorage, seals: RowSeals, notes: ChangeNotes) {
    this.#sql = sql;
    this.#notes = notes;
    this.sealed = new SealedTable(sql, seals, SHAPE);
  }

  byId(id: string): AliasRecord | null {
    return this.#read("SELECT * FROM aliases WHERE id = ?", id)[0] ?? null;
  }

  /** The alias with this name on this mount, whatever the case of the name. */
  byName(mountAccessor: string, name: string): AliasRecord | null {
    const query = "SELECT * FROM aliases WHERE mount_accessor = ? AND name_key = ?";
    return this.#read(query, mountAccessor, nameKey(name))[0] ?? null;
  }

  /** True when there is an alias with this name on this mount, also one that was tampered with. */
  isTaken(mountAccessor: string, name: string): boolean {
    const query = "SELECT 1 FROM aliases WHERE mount_accessor = ? AND name_key = ?";
    return this.#sql.exec(query, mountAccessor, nameKey(name)).toArray().length > 0;
  }

  ofEntityOnMount(entityId: string, mountAccessor: string): AliasRecord | null {
    const query = "SELECT * FROM aliases WHERE entity_id = ? AND mount_accessor = ?";
    return this.#read(query, entityId, mountAccessor)[0] ?? null;
  }

  /** All aliases of an entity; null when one was tampered with. */
  ofEntity(entityId: string): AliasRecord[] | null {
    const rows = this.#sql
      .exec<WithSeal<AliasRow>>("SELECT * FROM aliases WHERE entity_id = ? ORDER BY created_at, id", entityId)
      .toArray();
    const admitted = this.sealed.admitted(rows);
    return admitted.length < rows.length ? null : admitted.map(aliasOfRow);
  }

  /** All aliases of the entities. */
  ofEntities(entityIds: readonly string[]): AliasRecord[] {
    return this.#read(
      "SELECT * FROM aliases WHERE entity_id IN (SELECT value FROM json_each(?)) ORDER BY created_at, id",
      JSON.stringify(entityIds),
    );
  }

  /** At most `limit` after the id `after`. */
  list(after: string, limit: number): AliasRecord[] {
    return this.#read("SELECT * FROM aliases WHERE id > ? ORDER BY id LIMIT ?", after, limit);
  }

  /** Creates or replaces an alias. Another one in its place can only be one that was tampered with. */
  write(alias: AliasRecord): void {
    const row: AliasRow = {
      id: alias.id,
      entity_id: alias.entityId,
      name: alias.name,
      name_key: nameKey(alias.name),
      mount_accessor: alias.mountAccessor,
      metadata: JSON.stringify(alias.metadata),
      custom_metadata: JSON.stringify(alias.customMetadata),
      created_at: alias.createdAt,
      updated_at: alias.updatedAt,
    };
    this.#noteOwners("id = ? OR (mount_accessor = ? AND name_key = ?)", row.id, row.mount_accessor, row.name_key);
    this.#notes.changed(row.entity_id);
    this.#sql.exec(
      `INSERT OR REPLACE INTO aliases
         (id, entity_id, name, name_key, mount_accessor, metadata, custom_metadata, created_at, updated_at, seal)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      ...[row.id, row.entity_id, row.name, row.name_key, row.mount_accessor],
      ...[row.metadata, row.custom_metadata, row.created_at, row.updated_at],
      this.sealed.sealOf(row),
    );
  }

  delete(id: string): void {
    this.#noteOwners("id = ?", id);
    this.#sql.exec("DELETE FROM aliases WHERE id = ?", id);
  }

  deleteOfEntity(entityId: string): void {
    this.#notes.changed(entityId);
    this.#sql.exec("DELETE FROM aliases WHERE entity_id = ?", entityId);
  }

  /** Notes that the entities which have these aliases change. */
  #noteOwners(where: string, ...values: string[]): void {
    const query = `SELECT entity_id FROM aliases WHERE ${where}`;
    for (const row of this.#sql.exec<{ entity_id: string }>(query, ...values)) this.#notes.changed(row.entity_id);
  }

  #read(query: string, ...values: (string | number)[]): AliasRecord[] {
    return this.sealed.admitted(this.#sql.exec<WithSeal<AliasRow>>(query, ...values).toArray()).map(aliasOfRow);
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
