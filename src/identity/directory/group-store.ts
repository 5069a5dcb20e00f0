import { nameKey } from "../../base/name.ts";
import type { RowSeals } from "../../storage/row-seals.ts";
import { SealedTable, type TableShape, type WithSeal } from "../../storage/sealed-table.ts";
import { columnOf, RANDOM_REVISION, type Sql, storedJson } from "../../storage/tables.ts";
import type { AliasPlace, GroupState, GroupType, GroupWrite, Metadata } from "../model.ts";
import { usablePolicies } from "../rules.ts";
import { MembershipStore } from "./membership-store.ts";

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

/** Characters of all groups together, without their members: every isolate has a copy of them. */
export const MAX_GROUP_CHARACTERS = 2 ** 22;
/** Characters that the ids in a row take. */
const CHARACTERS_OF_IDS = 128;

const SHAPE: TableShape = {
  table: "groups",
  kind: "group",
  key: ["id"],
  sealed: ["name", "name_key", "metadata", "policies", "type"],
};

/** The tables of groups and their members. Rows that were tampered with count as absent. */
export class GroupStore {
  readonly #sql: Sql;
  readonly #sealed: SealedTable<GroupRow>;
  readonly members: MembershipStore;

  /** @param onMemberChange is called when an entity joins or leaves a group. */
  constructor(sql: Sql, seals: RowSeals, onMemberChange: (entityId: string) => void) {
    this.#sql = sql;
    this.#sealed = new SealedTable(sql, seals, SHAPE);
    this.members = new MembershipStore(sql, seals, onMemberChange);
  }

  /** Another one after every change of a group or of a group in a group, but not of entities in groups. */
  revision(): number {
    const [revision = 0] = columnOf<number>(this.#sql, "SELECT groups_revision FROM state");
    return revision;
  }

  /** Draws another revision. */
  noteChange(): void {
    this.#sql.exec(`UPDATE state SET groups_revision = ${RANDOM_REVISION}`);
  }

  /** True when all groups may have so many characters more. */
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

  /** The id of the group with this name, also when it was tampered with. */
  idOfName(name: string): string | null {
    return columnOf<string>(this.#sql, "SELECT id FROM groups WHERE name_key = ?", nameKey(name))[0] ?? null;
  }

  /** At most `limit` after `after`, which is an id or a name like the order. */
  list(order: "id" | "name", after: string, limit: number): GroupRow[] {
    const column = order === "id" ? "id" : "name_key";
    const from = order === "id" ? after : nameKey(after);
    return this.#sealed.list(`WHERE ${column} > ? ORDER BY ${column} LIMIT ?`, from, limit);
  }

  /** All groups as requests need them. @param aliases of external groups, by their ids. */
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

  /** Creates the group, or changes what is given of it. */
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
    // Another one of this name can only be one that was tampered with.
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
