import { nameKey } from "../../base/name.ts";
import type { RowSeals } from "../../storage/row-seals.ts";
import { SealedTable, type TableShape, type WithSeal } from "../../storage/sealed-table.ts";
import { columnOf, RANDOM_REVISION, type Sql, storedJson } from "../../storage/tables.ts";
import type { AliasPlace, GroupState, GroupType, GroupWrite, Metadata } from "../model.ts";
import { usablePolicies } from "../rules.ts";

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

/** Maximum size (characters) of all groups together, without their members. Every isolate has a copy of them. */
export const MAX_GROUP_CHARACTERS = 2 ** 22;
/** Characters that are charged for the ids in a row. */
const CHARACTERS_OF_IDS = 128;

const SHAPE: TableShape = {
  table: "groups",
  kind: "group",
  key: ["id"],
  sealed: ["name", "name_key", "metadata", "policies", "type"],
};

/** The tables of groups and their members. Tampered rows count as absent, unless a method says otherwise. */
export class GroupStore {
  readonly #sql: Sql;
  readonly #sealed: SealedTable<GroupRow>;
  readonly members: MembershipStore;

  /** @param onMemberChange called when an entity joins or leaves a group. */
  constructor(sql: Sql, seals: RowSeals, onMemberChange: (entityId: string) => void) {
    this.#sql = sql;
    this.#sealed = new SealedTable(sql, seals, SHAPE);
    this.members = new MembershipStore(sql, seals, onMemberChange);
  }

  /** Returns the revision. It changes with every change of a group or of its member groups, not of its entities. */
  revision(): number {
    const [revision = 0] = columnOf<number>(this.#sql, "SELECT groups_revision FROM state");
    return revision;
  }

  /** Sets a new random revision. */
  noteChange(): void {
    this.#sql.exec(`UPDATE state SET groups_revision = ${RANDOM_REVISION}`);
  }

  /** True when all groups together may grow by this many characters. */
  hasRoomFor(characters: number): boolean {
    const query = `SELECT (SELECT COALESCE(SUM(LENGTH(name) + LENGTH(metadata) + LENGTH(policies) + ?1), 0) FROM groups)
      + (SELECT COALESCE(SUM(LENGTH(name) + ?1), 0) FROM group_aliases)
      + (SELECT COUNT(*) * ?1 FROM group_groups) `;
    const [taken = 0] = columnOf<number>(this.#sql, query, CHARACTERS_OF_IDS);
    return taken + characters <= MAX_GROUP_CHARACTERS;
  }

  byId(id: string): GroupRow | null {
    return this.#sealed.find(id);
  }

  byName(name: string): GroupRow | null {
    return this.#sealed.list("WHERE name_key = ?", nameKey(name))[0] ?? null;
  }

  /** Returns the id of the group with this name, also when its row was tampered with. */
  idOfName(name: string): string | null {
    return columnOf<string>(this.#sql, "SELECT id FROM groups WHERE name_key = ?", nameKey(name))[0] ?? null;
  }

  /** Returns at most `limit` groups after `after`, which is an id or a name as `order` says. */
  list(order: "id" | "name", after: string, limit: number): GroupRow[] {
    const column = order === "id" ? "id" : "name_key";
    const from = order === "id" ? after : nameKey(after);
    return this.#sealed.list(`WHERE ${column} > ? ORDER BY ${column} LIMIT ?`, from, limit);
  }

  /** Returns all groups as requests need them, tampered ones marked. @param aliases by the id of their group. */
  states(aliases: ReadonlyMap<string, AliasPlace>): GroupState[] {
    const { parents, tampered } = this.members.groupsInGroups();
    const rows = this.#sql.exec<WithSeal<GroupRow>>("SELECT * FROM groups").toArray();
    return rows.map((row): GroupState => {
      const { id, name } = row;
      const parentIds = parents.get(id) ?? [];
      if (tampered.has(id) || !this.#sealed.admits(row)) {
        return { group: { id, name: "", metadata: {} }, policies: [], parentIds, alias: null, tampered: true };
      }
      const policies = usablePolicies(storedJson<string[]>(row.policies));
      const group = { id, name, metadata: storedJson<Metadata>(row.metadata) };
      return { group, policies, parentIds, alias: aliases.get(id) ?? null, tampered: false };
    });
  }

  /** True when all of `ids` are groups. */
  allExist(ids: readonly string[]): boolean {
    const query = "SELECT COUNT(*) FROM groups WHERE id IN (SELECT value FROM json_each(?))";
    return columnOf<number>(this.#sql, query, JSON.stringify(ids))[0] === new Set(ids).size;
  }

  /** Creates the group, or changes the given fields of it. `now` in ms. */
  write(id: string, name: string, type: GroupType, write: Omit<GroupWrite, "name" | "type">, now: number): void {
    const before = this.byId(id);
    const row: GroupRow = {
      id,
      name,
      name_key: nameKey(name),
      metadata: write.metadata ? JSON.stringify(write.metadata) : (before?.metadata ?? "{}"),
      policies: write.policies ? JSON.stringify(write.policies) : (before?.policies ?? "[]"),
      created_at: before?.created_at ?? now,
      updated_at: now,
      type: before?.type ?? type,
    };
    // The caller found no valid row with this name, so another row with it was tampered with.
    this.#sql.exec("DELETE FROM groups WHERE name_key = ? AND id <> ?", row.name_key, id);
    this.#sealed.put(row);
    if (write.memberEntityIds) this.members.replaceEntities(id, write.memberEntityIds);
    if (write.memberGroupIds) this.members.replaceGroups(id, write.memberGroupIds);
    const isSame = before?.name === row.name && before.metadata === row.metadata && before.policies === row.policies;
    if (!isSame || write.memberGroupIds) this.noteChange();
  }

  delete(id: string): void {
    this.#sealed.delete(id);
    this.members.forgetGroup(id);
    this.noteChange();
  }
}

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

/** Memberships of groups in groups. */
interface GroupsInGroups {
  /** Ids of the direct parents of each group, by the id of the group. A group without parents is absent. */
  readonly parents: ReadonlyMap<string, readonly string[]>;
  /** Ids of the groups whose parents are unknown, because one of the rows was tampered with. */
  readonly tampered: ReadonlySet<string>;
}

/** The tables of group members: a sealed row for each membership. Tampered rows count as absent in lists. */
class MembershipStore {
  readonly #sql: Sql;
  readonly #entities: SealedTable<EntityMember>;
  readonly #groups: SealedTable<GroupMember>;
  readonly #onChange: (entityId: string) => void;

  /** @param onChange called when an entity joins or leaves a group. */
  constructor(sql: Sql, seals: RowSeals, onChange: (entityId: string) => void) {
    this.#sql = sql;
    this.#onChange = onChange;
    this.#entities = new SealedTable(sql, seals, ENTITY_MEMBER);
    this.#groups = new SealedTable(sql, seals, GROUP_MEMBER);
  }

  /** Returns the sorted ids of an entity's direct groups; null when one of these rows was tampered with. */
  ofEntity(entityId: string): string[] | null {
    const { good, tampered } = this.#entities.judged("WHERE entity_id = ? ORDER BY group_id", entityId);
    return tampered.length > 0 ? null : good.map(({ group_id }) => group_id);
  }

  /** Returns all memberships of groups in groups. */
  groupsInGroups(): GroupsInGroups {
    const parents = new Map<string, string[]>();
    const tampered = new Set<string>();
    for (const row of this.#sql.exec<WithSeal<GroupMember>>("SELECT * FROM group_groups").toArray()) {
      if (!this.#groups.admits(row)) tampered.add(row.member_id);
      parents.set(row.member_id, [...(parents.get(row.member_id) ?? []), row.group_id]);
    }
    return { parents, tampered };
  }

  /** Returns the sorted ids of the entities in a group. */
  entitiesOf(groupId: string): string[] {
    const members = this.#entities.list("WHERE group_id = ? ORDER BY entity_id", groupId);
    return members.map(({ entity_id }) => entity_id);
  }

  /** Returns the sorted ids of the groups in a group. */
  groupsOf(groupId: string): string[] {
    const members = this.#groups.list("WHERE group_id = ? ORDER BY member_id", groupId);
    return members.map(({ member_id }) => member_id);
  }

  /** Returns the sorted ids of the direct parents of a group. */
  parentsOf(groupId: string): string[] {
    const parents = this.#groups.list("WHERE member_id = ? ORDER BY group_id", groupId);
    return parents.map(({ group_id }) => group_id);
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
    this.#onChange(entityId);
    this.#entities.put({ entity_id: entityId, group_id: groupId });
  }

  removeEntity(groupId: string, entityId: string): void {
    this.#onChange(entityId);
    this.#entities.delete(entityId, groupId);
  }

  /** Replaces the entities in a group. Rows of entities that stay are not rewritten. */
  replaceEntities(groupId: string, entityIds: readonly string[]): void {
    const { good, tampered } = this.#entities.judged("WHERE group_id = ?", groupId);
    const before = new Set(good.map(({ entity_id }) => entity_id));
    const after = new Set(entityIds);
    for (const { entity_id } of [...good, ...tampered]) {
      if (!after.has(entity_id)) this.removeEntity(groupId, entity_id);
    }
    for (const entityId of after) if (!before.has(entityId)) this.addEntity(groupId, entityId);
  }

  /** Replaces the groups in a group. */
  replaceGroups(groupId: string, memberIds: readonly string[]): void {
    this.#sql.exec("DELETE FROM group_groups WHERE group_id = ?", groupId);
    for (const memberId of memberIds) this.#groups.put({ member_id: memberId, group_id: groupId });
  }

  /** Removes a deleted entity from its groups. */
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
