import { nameKey } from "../base/name.ts";
import type { GroupAliasRecord } from "./model.ts";

interface GroupAliasRow extends Record<string, SqlStorageValue> {
  id: string;
  group_id: string;
  name: string;
  name_key: string;
  mount_accessor: string;
  created_at: number;
  updated_at: number;
}

/** The table of the names that auth mounts know external groups by, at most one for each group. */
export class GroupAliasStore {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  byId(id: string): GroupAliasRecord | null {
    return this.#one("SELECT * FROM group_aliases WHERE id = ?", id);
  }

  /** The alias with this name on this mount, whatever the case of the name. */
  byName(mountAccessor: string, name: string): GroupAliasRecord | null {
    const query = "SELECT * FROM group_aliases WHERE mount_accessor = ? AND name_key = ?";
    return this.#one(query, mountAccessor, nameKey(name));
  }

  ofGroup(groupId: string): GroupAliasRecord | null {
    return this.#one("SELECT * FROM group_aliases WHERE group_id = ?", groupId);
  }

  /** At most `limit` after the id `after`. */
  list(after: string, limit: number): GroupAliasRecord[] {
    return this.#sql
      .exec<GroupAliasRow>("SELECT * FROM group_aliases WHERE id > ? ORDER BY id LIMIT ?", after, limit)
      .toArray()
      .map(aliasOfRow);
  }

  /** The groups that a mount knows by these names. */
  groupIdsOf(mountAccessor: string, names: readonly string[]): string[] {
    return this.#sql
      .exec<{ group_id: string }>(
        "SELECT group_id FROM group_aliases WHERE mount_accessor = ? AND name_key IN (SELECT value FROM json_each(?))",
        mountAccessor,
        JSON.stringify(names.map(nameKey)),
      )
      .toArray()
      .map((row) => row.group_id);
  }

  /** The groups of an entity that it is in by the word of a mount. */
  groupIdsOfMember(mountAccessor: string, entityId: string): string[] {
    return this.#sql
      .exec<{ group_id: string }>(
        `SELECT a.group_id FROM group_entities e JOIN group_aliases a ON a.group_id = e.group_id
         WHERE e.entity_id = ? AND a.mount_accessor = ?`,
        entityId,
        mountAccessor,
      )
      .toArray()
      .map((row) => row.group_id);
  }

  /** Creates or replaces an alias. A group has one: its other one is dropped. */
  write(alias: GroupAliasRecord): void {
    this.#sql.exec("DELETE FROM group_aliases WHERE group_id = ? OR id = ?", alias.groupId, alias.id);
    this.#sql.exec(
      `INSERT INTO group_aliases (id, group_id, name, name_key, mount_accessor, created_at, updated_at)
       VALUES (?, ?, ?, ?, ?, ?, ?)`,
      alias.id,
      alias.groupId,
      alias.name,
      nameKey(alias.name),
      alias.mountAccessor,
      alias.createdAt,
      alias.updatedAt,
    );
  }

  delete(id: string): void {
    this.#sql.exec("DELETE FROM group_aliases WHERE id = ?", id);
  }

  deleteOfGroup(groupId: string): void {
    this.#sql.exec("DELETE FROM group_aliases WHERE group_id = ?", groupId);
  }

  #one(query: string, ...values: string[]): GroupAliasRecord | null {
    const row = this.#sql.exec<GroupAliasRow>(query, ...values).toArray()[0];
    return row ? aliasOfRow(row) : null;
  }
}

function aliasOfRow(row: GroupAliasRow): GroupAliasRecord {
  return {
    id: row.id,
    groupId: row.group_id,
    name: row.name,
    mountAccessor: row.mount_accessor,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
