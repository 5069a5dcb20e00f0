import type { RowSeals } from "../../storage/row-seals.ts";
import { SealedTable, type TableShape, type WithSeal } from "../../storage/sealed-table.ts";
import type { Sql } from "../../storage/tables.ts";

interface EntityMember extends Record<string, SqlStorageValue> {
  entity_id: string;
  group_id: string;
}

interface GroupMember extends Record<string, SqlStorageValue> {
  member_id: string;
  group_id: string;
}

const ENTITY_MEMBER: TableShape = {
  table: "group_entities",
  kind: "group member",
  key: ["entity_id", "group_id"],
  sealed: [],
};
const GROUP_MEMBER: TableShape = {
  table: "group_groups",
  kind: "group in group",
  key: ["member_id", "group_id"],
  sealed: [],
};

/** Groups in groups. */
export interface GroupsInGroups {
  /** The ids of the groups that a group is in itself, by its id; those that are in none are absent. */
  readonly parents: ReadonlyMap<string, readonly string[]>;
  /** Ids of the groups whose parents are unknown: a row that says so was tampered with. */
  readonly tampered: ReadonlySet<string>;
}

/** The tables of who is in which group: a row each, with a seal. Rows that were tampered with count as absent. */
export class MembershipStore {
  readonly #sql: Sql;
  readonly #entities: SealedTable<EntityMember>;
  readonly #groups: SealedTable<GroupMember>;
  readonly #onChange: (entityId: string) => void;

  /** @param onChange is called when an entity joins or leaves a group. */
  constructor(sql: Sql, seals: RowSeals, onChange: (entityId: string) => void) {
    this.#sql = sql;
    this.#onChange = onChange;
    this.#entities = new SealedTable(sql, seals, ENTITY_MEMBER);
    this.#groups = new SealedTable(sql, seals, GROUP_MEMBER);
  }

  /** Ids of the groups that an entity is in itself, sorted; null when a row that says so was tampered with: then they are unknown. */
  ofEntity(entityId: string): string[] | null {
    const { good, tampered } = this.#entities.judged("WHERE entity_id = ? ORDER BY group_id", entityId);
    return tampered.length > 0 ? null : good.map(({ group_id }) => group_id);
  }

  /** All groups that are in groups. */
  groupsInGroups(): GroupsInGroups {
    const parents = new Map<string, string[]>();
    const tampered = new Set<string>();
    for (const row of this.#sql.exec<WithSeal<GroupMember>>("SELECT * FROM group_groups").toArray()) {
      if (!this.#groups.admits(row)) tampered.add(row.member_id);
      parents.set(row.member_id, [...(parents.get(row.member_id) ?? []), row.group_id]);
    }
    return { parents, tampered };
  }

  /** Ids of the entities in a group, sorted. */
  entitiesOf(groupId: string): string[] {
    const members = this.#entities.list("WHERE group_id = ? ORDER BY entity_id", groupId);
    return members.map(({ entity_id }) => entity_id);
  }

  /** Ids of the groups in a group, sorted. */
  groupsOf(groupId: string): string[] {
    const members = this.#groups.list("WHERE group_id = ? ORDER BY member_id", groupId);
    return members.map(({ member_id }) => member_id);
  }

  /** Ids of the groups that a group is in, sorted. */
  parentsOf(groupId: string): string[] {
    const parents = this.#groups.list("WHERE member_id = ? ORDER BY group_id", groupId);
    return parents.map(({ group_id }) => group_id);
  }

  /** True when `id` is one of `groups` or a member of them, directly or through others. */
  isPartOf(id: string, groups: readonly string[]): boolean {
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

  addEntity(groupId: string, entityId: string): void {
    this.#onChange(entityId);
    this.#entities.put({ entity_id: entityId, group_id: groupId });
  }

  removeEntity(groupId: string, entityId: string): void {
    this.#onChange(entityId);
    this.#entities.delete(entityId, groupId);
  }

  /** Makes these the entities in a group. Rows that stay are left alone. */
  replaceEntities(groupId: string, entityIds: readonly string[]): void {
    const { good, tampered } = this.#entities.judged("WHERE group_id = ?", groupId);
    const before = new Set(good.map(({ entity_id }) => entity_id));
    const after = new Set(entityIds);
    for (const { entity_id } of [...good, ...tampered]) {
      if (!after.has(entity_id)) this.removeEntity(groupId, entity_id);
    }
    for (const entityId of after) if (!before.has(entityId)) this.addEntity(groupId, entityId);
  }

  /** Makes these the groups in a group. */
  replaceGroups(groupId: string, memberIds: readonly string[]): void {
    this.#sql.exec("DELETE FROM group_groups WHERE group_id = ?", groupId);
    for (const memberId of memberIds) this.#groups.put({ member_id: memberId, group_id: groupId });
  }

  /** Takes an entity that is gone out of its groups. */
  forgetEntity(entityId: string): void {
    this.#sql.exec("DELETE FROM group_entities WHERE entity_id = ?", entityId);
  }

  /**
   * Takes everything out of a group that is gone, and it out of its groups. The shards of its members may go on to name it: a group
   * that does not exist adds nothing, and no other one gets its id.
   */
  forgetGroup(groupId: string): void {
    this.#sql.exec("DELETE FROM group_entities WHERE group_id = ?", groupId);
    this.#sql.exec("DELETE FROM group_groups WHERE group_id = ?1 OR member_id = ?1", groupId);
  }
}
