import type { RowSeals } from "../../storage/row-seals.ts";
import { SealedTable, type WithSeal } from "../../storage/sealed-table.ts";
import type { Sql } from "../../storage/tables.ts";
import type { MergeStore } from "./merge-store.ts";

type EntityMember = Record<"entity_id" | "group_id", string>;
type GroupMember = Record<"member_id" | "group_id", string>;

/** The tables of group members: a sealed row for each membership. Tampered rows count as absent in lists. */
export class MembershipStore {
  readonly #sql: Sql;
  readonly #entities: SealedTable<EntityMember>;
  readonly #groups: SealedTable<GroupMember>;
  readonly #merges: MergeStore;
  readonly #onChange: (entityId: string) => void;

  /**
   * @param merges merges in progress: the target joins each group that its source joins, because the merge copied the
   *   memberships when it began.
   * @param onChange called when an entity joins or leaves a group.
   */
  constructor(sql: Sql, seals: RowSeals, merges: MergeStore, onChange: (entityId: string) => void) {
    this.#sql = sql;
    this.#merges = merges;
    this.#onChange = onChange;
    const ofEntities = { table: "group_entities", kind: "group member", key: ["entity_id", "group_id"] } as const;
    this.#entities = new SealedTable(sql, seals, { ...ofEntities, sealed: [] });
    const ofGroups = { table: "group_groups", kind: "group in group", key: ["member_id", "group_id"] } as const;
    this.#groups = new SealedTable(sql, seals, { ...ofGroups, sealed: [] });
  }

  /** Returns the sorted ids of an entity's direct groups; null when one of these rows was tampered with. */
  ofEntity(entityId: string): string[] | null {
    const { good, tampered } = this.#entities.judged("WHERE entity_id = ? ORDER BY group_id", entityId);
    return tampered.length > 0 ? null : good.map(({ group_id }) => group_id);
  }

  /** Returns the direct parents of each group that has any, and the groups with a tampered row about their parents. */
  groupsInGroups() {
    const parents = new Map<string, string[]>();
    const tampered = new Set<string>();
    for (const row of this.#sql.exec<WithSeal<GroupMember>>("SELECT * FROM group_groups").toArray()) {
      if (!this.#groups.admits(row)) tampered.add(row.member_id);
      parents.set(row.member_id, [...(parents.get(row.member_id) ?? []), row.group_id]);
    }
    return { parents, tampered };
  }

  ofGroup(groupId: string) {
    const entities = this.#entities.list("WHERE group_id = ? ORDER BY entity_id", groupId);
    const groups = this.#groups.list("WHERE group_id = ? ORDER BY member_id", groupId);
    const parents = this.#groups.list("WHERE member_id = ? ORDER BY group_id", groupId);
    return {
      memberEntityIds: entities.map(({ entity_id }) => entity_id),
      memberGroupIds: groups.map(({ member_id }) => member_id),
      parentGroupIds: parents.map(({ group_id }) => group_id),
    };
  }

  /** True when `id` is one of `groups`, or a member of one of them, directly or through other groups. */
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
    for (const id of this.#withTargets([entityId])) this.#add(groupId, id);
  }

  removeEntity(groupId: string, entityId: string): void {
    this.#onChange(entityId);
    this.#entities.delete(entityId, groupId);
  }

  /** Rows of entities that stay are not rewritten. */
  replaceEntities(groupId: string, entityIds: readonly string[]): void {
    const { good, tampered } = this.#entities.judged("WHERE group_id = ?", groupId);
    const before = new Set(good.map(({ entity_id }) => entity_id));
    const after = this.#withTargets(entityIds);
    for (const { entity_id } of [...good, ...tampered]) {
      if (!after.has(entity_id)) this.removeEntity(groupId, entity_id);
    }
    for (const entityId of after) if (!before.has(entityId)) this.#add(groupId, entityId);
  }

  #add(groupId: string, entityId: string): void {
    this.#onChange(entityId);
    this.#entities.put({ entity_id: entityId, group_id: groupId });
  }

  #withTargets(entityIds: readonly string[]): ReadonlySet<string> {
    return new Set([...entityIds, ...this.#merges.targetsOf(entityIds)]);
  }

  replaceGroups(groupId: string, memberIds: readonly string[]): void {
    this.#sql.exec("DELETE FROM group_groups WHERE group_id = ?", groupId);
    for (const memberId of memberIds) this.#groups.put({ member_id: memberId, group_id: groupId });
  }

  forgetEntity(entityId: string): void {
    this.#sql.exec("DELETE FROM group_entities WHERE entity_id = ?", entityId);
  }

  /**
   * Removes all members of a deleted group, and the group from its parents. The shards of its members are not notified
   * and may still list its id. That is harmless: a group that does not exist adds nothing, and ids are not reused.
   */
  forgetGroup(groupId: string): void {
    this.#sql.exec("DELETE FROM group_entities WHERE group_id = ?", groupId);
    this.#sql.exec("DELETE FROM group_groups WHERE group_id = ?1 OR member_id = ?1", groupId);
  }
}
