import { nameKey } from "../base/name.ts";
import { RANDOM_REVISION } from "../storage/revision.ts";
import type { RowSeals } from "../storage/row-seals.ts";
import { SealedTable, type TableShape, type WithSeal } from "../storage/sealed-table.ts";
import { metadataOf, namesOf } from "./entity-store.ts";
import type { ChangeNotes } from "./lending.ts";
import { MembershipStore } from "./membership-store.ts";
import type { GroupPart, GroupType, GroupWrite } from "./model.ts";
import { usablePolicies } from "./view.ts";

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

const SHAPE: TableShape = {
  table: "groups",
  kind: "group",
  key: ["id"],
  sealed: ["name", "name_key", "metadata", "policies", "type"],
};

/** The tables of groups and their members. Rows that were tampered with count as absent. */
export class GroupStore {
  readonly #sql: SqlStorage;
  /** The table as seals see it. */
  readonly sealed: SealedTable<GroupRow>;
  readonly members: MembershipStore;
  readonly #notes: ChangeNotes;

  constructor(sql: SqlStorage, seals: RowSeals, notes: ChangeNotes) {
    this.#sql = sql;
    this.#notes = notes;
    this.sealed = new SealedTable(sql, seals, SHAPE);
    this.members = new MembershipStore(sql, seals, notes);
  }

  /** Another one after every change of any group. */
  revision(): number {
    return this.#sql.exec<{ revision: number }>("SELECT revision FROM group_revision").one().revision;
  }

  byId(id: string): GroupRow | null {
    return this.#read("SELECT * FROM groups WHERE id = ?", id)[0] ?? null;
  }

  byName(name: string): GroupRow | null {
    return this.#read("SELECT * FROM groups WHERE name_key = ?", nameKey(name))[0] ?? null;
  }

  /** The id of the group with this name, also when it was tampered with. */
  idOfName(name: string): string | null {
    const query = "SELECT id FROM groups WHERE name_key = ?";
    return this.#sql.exec<{ id: string }>(query, nameKey(name)).toArray()[0]?.id ?? null;
  }

  /** At most `limit` after `after`, which is an id or a name like the order. */
  list(order: "id" | "name", after: string, limit: number): GroupRow[] {
    const column = order === "id" ? "id" : "name_key";
    const query = `SELECT * FROM groups WHERE ${column} > ? ORDER BY ${column} LIMIT ?`;
    return this.#read(query, order === "id" ? after : nameKey(after), limit);
  }

  /** All groups of an entity, also through other groups, sorted by id. */
  ofEntity(entityId: string): MembershipRow[] {
    const direct = new Set(this.members.ofEntity(entityId).groupIds);
    const { parents } = this.members.above([...direct]);
    return this.sealed
      .admitted(this.#rows([...parents.keys()]))
      .map((row) => ({ ...row, direct: direct.has(row.id) ? 1 : 0 }));
  }

  /** Those of the groups that exist, with all that they are in. */
  above(groupIds: readonly string[]): GroupPart[] {
    const { parents, tampered } = this.members.above(groupIds);
    return this.#rows([...parents.keys()]).map((row): GroupPart => {
      const { id, name } = row;
      if (tampered.has(id) || !this.sealed.admits(row)) {
        return { group: { id, name: "", metadata: {} }, policies: [], parentIds: [], tampered: true };
      }
      const group = { id, name, metadata: metadataOf(row.metadata) };
      return {
        group,
        policies: usablePolicies(namesOf(row.policies)),
        parentIds: parents.get(id) ?? [],
        tampered: false,
      };
    });
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
    this.#sql.exec(
      `INSERT OR REPLACE INTO groups (id, name, name_key, metadata, policies, created_at, updated_at, type, seal)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      ...[row.id, row.name, row.name_key, row.metadata, row.policies, row.created_at, row.updated_at, row.type],
      this.sealed.sealOf(row),
    );
    if (write.memberEntityIds) this.members.replaceEntities(id, write.memberEntityIds);
    if (write.memberGroupIds) this.members.replaceGroups(id, write.memberGroupIds);
    this.#changed();
  }

  delete(id: string): void {
    this.#sql.exec("DELETE FROM groups WHERE id = ?", id);
    this.members.forgetGroup(id);
    this.#changed();
  }

  /** Takes every entity out of a group. */
  removeEntities(id: string): void {
    this.members.replaceEntities(id, []);
    this.#changed();
  }

  #rows(ids: readonly string[]): WithSeal<GroupRow>[] {
    if (ids.length === 0) return [];
    const query = "SELECT * FROM groups WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id";
    return this.#sql.exec<WithSeal<GroupRow>>(query, JSON.stringify(ids)).toArray();
  }

  #read(query: string, ...values: (string | number)[]): GroupRow[] {
    return this.sealed.admitted(this.#sql.exec<WithSeal<GroupRow>>(query, ...values).toArray());
  }

  #changed(): void {
    this.#notes.groupsChanged();
    this.#sql.exec(`UPDATE group_revision SET revision = ${RANDOM_REVISION}`);
  }
}
