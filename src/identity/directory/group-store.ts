import { nameKey } from "../../base/case-folding.ts";
import type { Ms } from "../../base/clock.ts";
import { err, invalid, ok, type Result, refuse } from "../../base/result.ts";
import type { RowSeals } from "../../storage/row-seals.ts";
import { SealedTable, type WithSeal } from "../../storage/sealed-table.ts";
import { columnOf, RANDOM_REVISION, type Sql, storedJson } from "../../storage/tables.ts";
import { externalMembersProblem } from "../external-group.ts";
import { usablePolicies } from "../identity-policies.ts";
import type {
  AliasPlace,
  EntityMetadata,
  GroupAliasRecord,
  GroupAliasWrite,
  GroupRecord,
  GroupState,
  GroupType,
  GroupWrite,
  IdOrName,
  Written,
} from "../model.ts";
import { generatedGroupName, newNameProblem } from "../name-and-metadata.ts";
import { MembershipStore } from "./membership-store.ts";
import type { MergeStore } from "./merge-store.ts";

type Times = Record<"created_at" | "updated_at", number>;
type GroupRow = Record<"id" | "name" | "name_key" | "metadata" | "policies", string> & Times & { type: GroupType };
type GroupAliasRow = Record<"id" | "group_id" | "name" | "name_key" | "mount_accessor", string> & Times;

/** Maximum size (characters) of all groups together, without their members. Every isolate has a copy of them. */
const MAX_GROUP_CHARACTERS = 2 ** 22;
/** Characters that are charged for the ids in a row. */
const CHARACTERS_OF_IDS = 128;

const TOO_MANY = invalid(`all groups must not have more than ${MAX_GROUP_CHARACTERS} characters together`);

/** The fields of a new external group. */
const EMPTY_GROUP = { metadata: null, policies: null, memberEntityIds: null, memberGroupIds: null } as const;

/**
 * The tables of groups, their members and their aliases: the names by which auth mounts know external groups, at most
 * one for each group. `Identity` describes the methods. Tampered rows count as absent, unless a method says otherwise.
 */
export class GroupStore {
  readonly #sql: Sql;
  readonly #sealed: SealedTable<GroupRow>;
  readonly members: MembershipStore;
  readonly #aliases: SealedTable<GroupAliasRow>;

  constructor(sql: Sql, seals: RowSeals, merges: MergeStore, onMemberChange: (entityId: string) => void) {
    this.#sql = sql;
    const sealed = ["name", "name_key", "metadata", "policies", "type"];
    this.#sealed = new SealedTable(sql, seals, { table: "groups", kind: "group", key: ["id"], sealed });
    this.members = new MembershipStore(sql, seals, merges, onMemberChange);
    const ofAlias = ["group_id", "name", "name_key", "mount_accessor"];
    const aliases = { table: "group_aliases", kind: "group alias", key: ["id"], sealed: ofAlias } as const;
    this.#aliases = new SealedTable(sql, seals, aliases);
  }

  /** Changes with every change of a group or of its member groups, not of its entities. */
  revision(): number {
    const [revision = 0] = columnOf<number>(this.#sql, "SELECT groups_revision FROM state");
    return revision;
  }

  read(key: IdOrName): GroupRecord | null {
    const row = "id" in key ? this.#sealed.find(key.id) : this.#byName(key.name);
    return row && this.#record(row);
  }

  list(order: "id" | "name", after: string, limit: number): GroupRecord[] {
    const column = order === "id" ? "id" : "name_key";
    const from = order === "id" ? after : nameKey(after);
    const rows = this.#sealed.list(`WHERE ${column} > ? ORDER BY ${column} LIMIT ?`, from, limit);
    return rows.map((row) => this.#record(row));
  }

  states(): GroupState[] {
    const aliases = new Map(this.#readAliases("").map((alias) => [alias.groupId, alias]));
    const { parents, tampered } = this.members.groupsInGroups();
    const rows = this.#sql.exec<WithSeal<GroupRow>>("SELECT * FROM groups").toArray();
    return rows.map((row): GroupState => {
      const { id, name } = row;
      const parentIds = parents.get(id) ?? [];
      if (tampered.has(id) || !this.#sealed.admits(row)) {
        return { group: { id, name: "", metadata: {} }, policies: [], parentIds, alias: null, tampered: true };
      }
      const policies = usablePolicies(storedJson<string[]>(row.policies));
      const group = { id, name, metadata: storedJson<EntityMetadata>(row.metadata) };
      return { group, policies, parentIds, alias: aliases.get(id) ?? null, tampered: false };
    });
  }

  /**
   * Creates or changes a group. With an id the group must exist. Without one, the name selects an existing group.
   * The caller has checked that its entities exist. Messages are the reference's (identity/group).
   */
  write(id: string | null, write: GroupWrite, now: Ms): Result<Written> {
    const byId = id === null ? null : this.#sealed.find(id);
    if (id !== null && !byId) return refuse("group not found from id");
    const byName = write.name === null ? null : this.#byName(write.name);
    if (byId && byName && byName.id !== byId.id) return refuse("group name is already in use");
    const existing = byId ?? byName;
    const problem = write.name === null || write.name === existing?.name ? null : newNameProblem("group", write.name);
    if (problem) return refuse(problem);
    const groupId = existing?.id ?? crypto.randomUUID();
    if (write.memberGroupIds && !this.#allExist(write.memberGroupIds)) {
      return refuse("member_group_ids holds an id that is no group");
    }
    // Without this check a group could pass its policies on to its own parents.
    if (write.memberGroupIds && this.members.isPartOf(groupId, write.memberGroupIds)) {
      return refuse("cyclic relationship detected for a group in member_group_ids");
    }
    const type = existing?.type ?? write.type ?? "internal";
    if (write.type && write.type !== type) return refuse("group type cannot be changed");
    const refusal = type === "external" ? externalMembersProblem(write, this.members.ofGroup(groupId)) : null;
    if (refusal) return refuse(refusal);
    if (!this.#hasRoomFor(JSON.stringify([write.name, write.metadata, write.policies, write.memberGroupIds]).length)) {
      return err(TOO_MANY);
    }
    const name = write.name ?? existing?.name ?? generatedGroupName();
    this.#put(groupId, existing, name, type, write, now);
    return ok({ id: groupId, name, created: existing === null });
  }

  /**
   * Creates a group alias, with a new external group when none is given, or changes the alias with the id. null when
   * the write changes nothing. Messages are the reference's (identity/group-alias).
   */
  writeAlias(id: string | null, write: GroupAliasWrite, now: Ms): Result<GroupAliasRecord | null> {
    const before = id === null ? null : this.readAlias({ id });
    if (id !== null && !before) return refuse("invalid group alias ID");
    const { name, mountAccessor } = write;
    const sameGroup = write.groupId === null || write.groupId === before?.groupId;
    if (before?.name === name && before.mountAccessor === mountAccessor && sameGroup) return ok(null);
    if (write.groupId !== null) {
      const group = this.#sealed.find(write.groupId);
      if (!group) return refuse("invalid group ID given in 'canonical_id'");
      if (group.type !== "external") return refuse("alias can't be set on an internal group");
    }
    const taken = this.readAlias({ mountAccessor, name });
    if (taken && taken.id !== before?.id) {
      return refuse("combination of mount and group alias name is already in use");
    }
    if (!this.#hasRoomFor(name.length)) return err(TOO_MANY);
    const groupId = write.groupId ?? before?.groupId ?? crypto.randomUUID();
    if (!this.#sealed.find(groupId)) this.#put(groupId, null, generatedGroupName(), "external", EMPTY_GROUP, now);
    // Members come from logins at the mount of the alias. After a change of its name or mount the old members are
    // removed.
    for (const changed of new Set([groupId, before?.groupId ?? groupId])) this.members.replaceEntities(changed, []);
    const alias = { id: before?.id ?? crypto.randomUUID(), groupId, name, mountAccessor };
    const record = { ...alias, createdAt: before?.createdAt ?? now, updatedAt: now };
    const name_key = nameKey(name);
    // A group has one alias. Another row with this name on the mount was tampered with.
    this.#sql.exec("DELETE FROM group_aliases WHERE group_id = ? AND id <> ?", groupId, record.id);
    const named = "mount_accessor = ? AND name_key = ?";
    this.#sql.exec(`DELETE FROM group_aliases WHERE ${named} AND id <> ?`, mountAccessor, name_key, record.id);
    const times = { created_at: record.createdAt, updated_at: now };
    this.#aliases.put({ id: record.id, group_id: groupId, name, name_key, mount_accessor: mountAccessor, ...times });
    this.#noteChange();
    return ok(record);
  }

  readAlias(key: { readonly id: string } | AliasPlace): GroupAliasRecord | null {
    if ("id" in key) return this.#readAliases("WHERE id = ?", key.id)[0] ?? null;
    const { mountAccessor, name } = key;
    return this.#readAliases("WHERE mount_accessor = ? AND name_key = ?", mountAccessor, nameKey(name))[0] ?? null;
  }

  listAliases(after: string, limit: number): GroupAliasRecord[] {
    return this.#readAliases("WHERE id > ? ORDER BY id LIMIT ?", after, limit);
  }

  setLoginGroups(entityId: string, mountAccessor: string, names: readonly string[]): void {
    const joined = `SELECT a.* FROM group_entities e JOIN group_aliases a ON a.group_id = e.group_id
      WHERE e.entity_id = ? AND a.mount_accessor = ?`;
    const held = this.#sql.exec<WithSeal<GroupAliasRow>>(joined, entityId, mountAccessor).toArray();
    const previous = new Set(this.#aliases.admitted(held).map(({ group_id }) => group_id));
    const named = "WHERE mount_accessor = ? AND name_key IN (SELECT value FROM json_each(?))";
    const found = this.#readAliases(named, mountAccessor, JSON.stringify(names.map(nameKey)));
    const after = new Set(found.map(({ groupId }) => groupId));
    for (const id of previous) if (!after.has(id)) this.members.removeEntity(id, entityId);
    for (const id of after) if (!previous.has(id)) this.members.addEntity(id, entityId);
  }

  /** Also deletes a tampered group. */
  delete(key: IdOrName): void {
    const named = "SELECT id FROM groups WHERE name_key = ?";
    const id = "id" in key ? key.id : columnOf<string>(this.#sql, named, nameKey(key.name))[0];
    if (id === undefined) return;
    this.#sql.exec("DELETE FROM group_aliases WHERE group_id = ?", id);
    this.#sealed.delete(id);
    this.members.forgetGroup(id);
    this.#noteChange();
  }

  deleteAlias(id: string): void {
    const alias = this.readAlias({ id });
    this.#aliases.delete(id);
    if (alias) this.members.replaceEntities(alias.groupId, []);
    this.#noteChange();
  }

  #put(
    id: string,
    before: GroupRow | null,
    name: string,
    type: GroupType,
    write: Omit<GroupWrite, "name" | "type">,
    now: Ms,
  ): void {
    const row: GroupRow = {
      id,
      name,
      name_key: nameKey(name),
      metadata: write.metadata ? JSON.stringify(write.metadata) : (before?.metadata ?? "{}"),
      policies: write.policies ? JSON.stringify(write.policies) : (before?.policies ?? "[]"),
      created_at: before?.created_at ?? now,
      updated_at: now,
      type,
    };
    // The caller found no valid row with this name, so another row with it was tampered with.
    this.#sql.exec("DELETE FROM groups WHERE name_key = ? AND id <> ?", row.name_key, id);
    this.#sealed.put(row);
    if (write.memberEntityIds) this.members.replaceEntities(id, write.memberEntityIds);
    if (write.memberGroupIds) this.members.replaceGroups(id, write.memberGroupIds);
    const isSame = before?.name === row.name && before.metadata === row.metadata && before.policies === row.policies;
    if (!isSame || write.memberGroupIds) this.#noteChange();
  }

  #byName(name: string): GroupRow | null {
    return this.#sealed.list("WHERE name_key = ?", nameKey(name))[0] ?? null;
  }

  #allExist(ids: readonly string[]): boolean {
    const query = "SELECT COUNT(*) FROM groups WHERE id IN (SELECT value FROM json_each(?))";
    return columnOf<number>(this.#sql, query, JSON.stringify(ids))[0] === new Set(ids).size;
  }

  #readAliases(which: string, ...values: (string | number)[]): GroupAliasRecord[] {
    return this.#aliases.list(which, ...values).map((row) => ({
      id: row.id,
      groupId: row.group_id,
      name: row.name,
      mountAccessor: row.mount_accessor,
      createdAt: row.created_at,
      updatedAt: row.updated_at,
    }));
  }

  #hasRoomFor(characters: number): boolean {
    const query = `SELECT (SELECT COALESCE(SUM(LENGTH(name) + LENGTH(metadata) + LENGTH(policies) + ?1), 0) FROM groups)
      + (SELECT COALESCE(SUM(LENGTH(name) + ?1), 0) FROM group_aliases)
      + (SELECT COUNT(*) * ?1 FROM group_groups) `;
    const [taken = 0] = columnOf<number>(this.#sql, query, CHARACTERS_OF_IDS);
    return taken + characters <= MAX_GROUP_CHARACTERS;
  }

  #noteChange(): void {
    // The row may have been deleted by an attacker who can write the storage.
    this.#sql.exec("INSERT INTO state (groups_revision, version) SELECT 0, 0 WHERE NOT EXISTS (SELECT 1 FROM state)");
    this.#sql.exec(`UPDATE state SET groups_revision = ${RANDOM_REVISION}`);
  }

  #record({ id, type, name, metadata, policies, created_at: createdAt, updated_at: updatedAt }: GroupRow): GroupRecord {
    return {
      id,
      type,
      alias: this.#readAliases("WHERE group_id = ?", id)[0] ?? null,
      name,
      metadata: storedJson<EntityMetadata>(metadata),
      policies: storedJson<string[]>(policies),
      createdAt,
      updatedAt,
      ...this.members.ofGroup(id),
    };
  }
}
