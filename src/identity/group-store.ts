import { nameKey } from "../base/name.ts";
import { RANDOM_REVISION } from "../storage/revision.ts";
import type { GroupType, GroupWrite } from "./model.ts";

/** A row of the table of groups. Times in ms. */
export interface GroupRow extends Record<string, SqlStorageValue> {
  id: string;
  name: string;
  name_key: string;
  metadata: string;
  policies: string;
  created_at: number;
  updated_at: number;
  type: GroupType;
}

/** A group that an entity is in, and whether itself or through another group. */
export interface MembershipRow extends GroupRow {
  direct: number;
}

/** The tables of groups and their members. */
export class GroupStore {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** Another one after every change of any group. */
  revision(): number {
    return this.#sql.exec<{ revision: number }>("SELECT revision FROM group_revision").one().revision;
  }

  byId(id: string): GroupRow | null {
    return this.#sql.exec<GroupRow>("SELECT * FROM groups WHERE id = ?", id).toArray()[0] ?? null;
  }

  byName(name: string): GroupRow | null {
    return this.#sql.exec<GroupRow>("SELECT * FROM groups WHERE name_key = ?", nameKey(name)).toArray()[0] ?? null;
  }

  /** At most `limit` after `after`, which is an id or a name like the order. */
  list(order: "id" | "name", after: string, limit: number): GroupRow[] {
    const column = order === "id" ? "id" : "name_key";
    return this.#sql
      .exec<GroupRow>(
        `SELECT * FROM groups WHERE ${column} > ? ORDER BY ${column} LIMIT ?`,
        order === "id" ? after : nameKey(after),
        limit,
      )
      .toArray();
  }

  /** All groups of an entity, also through other groups, sorted by id. Ends also if groups should form a circle. */
  ofEntity(entityId: string): MembershipRow[] {
    return this.#sql
      .exec<MembershipRow>(
        `WITH RECURSIVE up (id) AS (
           SELECT group_id FROM group_entities WHERE entity_id = ?1
           UNION
           SELECT g.group_id FROM up JOIN group_groups g ON g.member_id = up.id
         )
         SELECT groups.*,
           EXISTS (SELECT 1 FROM group_entities e WHERE e.entity_id = ?1 AND e.group_id = groups.id) AS direct
         FROM up JOIN groups ON groups.id = up.id ORDER BY groups.id`,
        entityId,
      )
      .toArray();
  }

  /** True when `id` is one of `groups` or a member of them, directly or through others. */
  isWithin(id: string, groups: readonly string[]): boolean {
    const found = this.#sql.exec(
      `WITH RECURSIVE down (id) AS (
         SELECT value FROM json_each(?)
         UNION
         SELECT g.member_id FROM down JOIN group_groups g ON g.group_id = down.id
       )
       SELECT 1 FROM down WHERE id = ?`,
      JSON.stringify(groups),
      id,
    );
    return found.toArray().length > 0;
  }

  /** True when all of `ids` are groups. */
  allExist(ids: readonly string[]): boolean {
    const { found } = this.#sql
      .exec<{ found: number }>(
        "SELECT COUNT(*) AS found FROM groups WHERE id IN (SELECT value FROM json_each(?))",
        JSON.stringify(ids),
      )
      .one();
    return found === new Set(ids).size;
  }

  memberEntityIds(id: string): string[] {
    return this.#ids("SELECT entity_id AS id FROM group_entities WHERE group_id = ? ORDER BY entity_id", id);
  }

  memberGroupIds(id: string): string[] {
    return this.#ids("SELECT member_id AS id FROM group_groups WHERE group_id = ? ORDER BY member_id", id);
  }

  parentGroupIds(id: string): string[] {
    return this.#ids("SELECT group_id AS id FROM group_groups WHERE member_id = ? ORDER BY group_id", id);
  }

  /** Creates the group, or changes what is given of it. */
  write(id: string, name: string, type: GroupType, write: Omit<GroupWrite, "name" | "type">, now: number): void {
    this.#sql.exec(
      `INSERT INTO groups (id, name, name_key, metadata, policies, created_at, updated_at, type)
       VALUES (?1, ?2, ?3, COALESCE(?4, '{}'), COALESCE(?5, '[]'), ?6, ?6, ?7)
       ON CONFLICT (id) DO UPDATE SET name = excluded.name, name_key = excluded.name_key,
         metadata = COALESCE(?4, metadata), policies = COALESCE(?5, policies), updated_at = excluded.updated_at`,
      id,
      name,
      nameKey(name),
      write.metadata && JSON.stringify(write.metadata),
      write.policies && JSON.stringify(write.policies),
      now,
      type,
    );
    if (write.memberEntityIds) this.#replaceMembers("group_entities", "entity_id", id, write.memberEntityIds);
    if (write.memberGroupIds) this.#replaceMembers("group_groups", "member_id", id, write.memberGroupIds);
    this.#changed();
  }

  delete(id: string): void {
    this.#sql.exec("DELETE FROM groups WHERE id = ?", id);
    this.#sql.exec("DELETE FROM group_entities WHERE group_id = ?", id);
    this.#sql.exec("DELETE FROM group_groups WHERE group_id = ?1 OR member_id = ?1", id);
    this.#changed();
  }

  /** Takes every entity out of a group. */
  removeEntities(id: string): void {
    this.#replaceMembers("group_entities", "entity_id", id, []);
    this.#changed();
  }

  addEntity(id: string, entityId: string): void {
    this.#sql.exec("INSERT OR IGNORE INTO group_entities (group_id, entity_id) VALUES (?, ?)", id, entityId);
  }

  removeEntity(id: string, entityId: string): void {
    this.#sql.exec("DELETE FROM group_entities WHERE group_id = ? AND entity_id = ?", id, entityId);
  }

  /** Takes an entity that is gone out of its groups. */
  forgetEntity(entityId: string): void {
    this.#sql.exec("DELETE FROM group_entities WHERE entity_id = ?", entityId);
  }

  #replaceMembers(
    table: "group_entities" | "group_groups",
    column: "entity_id" | "member_id",
    id: string,
    members: readonly string[],
  ): void {
    this.#sql.exec(`DELETE FROM ${table} WHERE group_id = ?`, id);
    this.#sql.exec(
      `INSERT OR IGNORE INTO ${table} (group_id, ${column}) SELECT ?, value FROM json_each(?)`,
      id,
      JSON.stringify(members),
    );
  }

  #ids(query: string, id: string): string[] {
    return this.#sql
      .exec<{ id: string }>(query, id)
      .toArray()
      .map((row) => row.id);
  }

  #changed(): void {
    this.#sql.exec(`UPDATE group_revision SET revision = ${RANDOM_REVISION}`);
  }
}
