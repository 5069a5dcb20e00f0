import { nameKey } from "../../base/name.ts";
import type { RowSeals } from "../../storage/row-seals.ts";
import { SealedTable, type WithSeal } from "../../storage/sealed-table.ts";
import type { Sql } from "../../storage/tables.ts";
import type { GroupAliasRecord } from "../model.ts";

interface GroupAliasRow extends Record<string, SqlStorageValue> {
  id: string;
  group_id: string;
  name: string;
  name_key: string;
  mount_accessor: string;
  created_at: number;
  updated_at: number;
}

/**
 * The table of group aliases: the names by which auth mounts know external groups, at most one for each group. Tampered
 * rows count as absent.
 */
export class GroupAliasStore {
  readonly #sql: Sql;
  readonly #sealed: SealedTable<GroupAliasRow>;

  constructor(sql: Sql, seals: RowSeals) {
    this.#sql = sql;
    const sealed = ["group_id", "name", "name_key", "mount_accessor"];
    this.#sealed = new SealedTable(sql, seals, { table: "group_aliases", kind: "group alias", key: ["id"], sealed });
  }

  byId(id: string): GroupAliasRecord | null {
    return this.#read("WHERE id = ?", id)[0] ?? null;
  }

  /** Returns the alias with this name on this mount, without regard to case. */
  byName(mountAccessor: string, name: string): GroupAliasRecord | null {
    return this.#read("WHERE mount_accessor = ? AND name_key = ?", mountAccessor, nameKey(name))[0] ?? null;
  }

  ofGroup(groupId: string): GroupAliasRecord | null {
    return this.#read("WHERE group_id = ?", groupId)[0] ?? null;
  }

  /** Returns all group aliases. */
  all(): GroupAliasRecord[] {
    return this.#read("");
  }

  /** Returns at most `limit` group aliases after the id `after`. */
  list(after: string, limit: number): GroupAliasRecord[] {
    return this.#read("WHERE id > ? ORDER BY id LIMIT ?", after, limit);
  }

  /** Returns the ids of the groups that have an alias with one of these names on the mount. */
  groupIdsOf(mountAccessor: string, names: readonly string[]): string[] {
    const keys = JSON.stringify(names.map(nameKey));
    const named = "WHERE mount_accessor = ? AND name_key IN (SELECT value FROM json_each(?))";
    return this.#read(named, mountAccessor, keys).map(({ groupId }) => groupId);
  }

  /** Returns the ids of the groups of an entity that have an alias on the mount. */
  groupIdsOfMember(mountAccessor: string, entityId: string): string[] {
    const rows = this.#sql.exec<WithSeal<GroupAliasRow>>(
      `SELECT a.* FROM group_entities e JOIN group_aliases a ON a.group_id = e.group_id
       WHERE e.entity_id = ? AND a.mount_accessor = ?`,
      entityId,
      mountAccessor,
    );
    return this.#sealed.admitted(rows.toArray()).map(({ group_id }) => group_id);
  }

  /** Creates or replaces an alias. Other aliases of its group, or with its name on its mount, are deleted. */
  write(alias: GroupAliasRecord): void {
    const { id, groupId, mountAccessor, name } = alias;
    const name_key = nameKey(name);
    this.#sql.exec("DELETE FROM group_aliases WHERE group_id = ? AND id <> ?", groupId, id);
    const named = "mount_accessor = ? AND name_key = ?";
    this.#sql.exec(`DELETE FROM group_aliases WHERE ${named} AND id <> ?`, mountAccessor, name_key, id);
    this.#sealed.put({
      id,
      group_id: groupId,
      name,
      name_key,
      mount_accessor: mountAccessor,
      created_at: alias.createdAt,
      updated_at: alias.updatedAt,
    });
  }

  delete(id: string): void {
    this.#sealed.delete(id);
  }

  deleteOfGroup(groupId: string): void {
    this.#sql.exec("DELETE FROM group_aliases WHERE group_id = ?", groupId);
  }

  #read(which: string, ...values: (string | number)[]): GroupAliasRecord[] {
    return this.#sealed.list(which, ...values).map((row) => ({
      id: row.id,
      groupId: row.group_id,
      name: row.name,
      mountAccessor: row.mount_accessor,
      createdAt: row.created_at,
      updatedAt: row.updated_at,
    }));
  }
}
