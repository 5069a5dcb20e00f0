import { nameKey } from "../base/name.ts";
import type { RowSeals } from "../storage/row-seals.ts";
import { SealedTable, type TableShape, type WithSeal } from "../storage/sealed-table.ts";
import type { ChangeNotes } from "./lending.ts";
import type { EntityWrite, Metadata } from "./model.ts";

/** A row of the table of entities. Times in ms. */
export interface EntityRow extends Record<string, SqlStorageValue> {
  id: string;
  name: string;
  name_key: string;
  metadata: string;
  policies: string;
  disabled: number;
  revision: number;
  created_at: number;
  updated_at: number;
}

/** What changes when the entity is used, or says when, decides nothing. */
const SHAPE: TableShape = {
  table: "entities",
  kind: "entity",
  key: ["id"],
  sealed: ["name", "name_key", "metadata", "policies", "disabled"],
};

/** The table of entities. Rows that were tampered with count as absent. */
export class EntityStore {
  readonly #sql: SqlStorage;
  /** The table as seals see it. */
  readonly sealed: SealedTable<EntityRow>;
  readonly #notes: ChangeNotes;

  constructor(sql: SqlStorage, seals: RowSeals, notes: ChangeNotes) {
    this.#sql = sql;
    this.#notes = notes;
    this.sealed = new SealedTable(sql, seals, SHAPE);
  }

  byId(id: string): EntityRow | null {
    return this.#read("SELECT * FROM entities WHERE id = ?", id)[0] ?? null;
  }

  byName(name: string): EntityRow | null {
    return this.#read("SELECT * FROM entities WHERE name_key = ?", nameKey(name))[0] ?? null;
  }

  /** The id of the entity with this name, also when it was tampered with. */
  idOfName(name: string): string | null {
    const query = "SELECT id FROM entities WHERE name_key = ?";
    return this.#sql.exec<{ id: string }>(query, nameKey(name)).toArray()[0]?.id ?? null;
  }

  /** How many there are, counted up to `most`: each costs the reading of a row. */
  count(most: number): number {
    return this.#sql.exec<{ n: number }>("SELECT COUNT(*) AS n FROM (SELECT 1 FROM entities LIMIT ?)", most).one().n;
  }

  /** At most `limit` after `after`, which is an id or a name like the order. */
  list(order: "id" | "name", after: string, limit: number): EntityRow[] {
    const column = order === "id" ? "id" : "name_key";
    const query = `SELECT * FROM entities WHERE ${column} > ? ORDER BY ${column} LIMIT ?`;
    return this.#read(query, order === "id" ? after : nameKey(after), limit);
  }

  insert(id: string, name: string, write: Omit<EntityWrite, "name">, now: number): void {
    const metadata = JSON.stringify(write.metadata ?? {});
    const policies = JSON.stringify(write.policies ?? []);
    const disabled = write.disabled ? 1 : 0;
    const name_key = nameKey(name);
    const row = { id, name, name_key, metadata, policies, disabled, revision: 0, created_at: now, updated_at: now };
    // A row of this name can only be one that was tampered with: the new one takes its place.
    this.#noteReplaced(row);
    this.#notes.made(id);
    this.#sql.exec(
      `INSERT OR REPLACE INTO entities
         (id, name, name_key, metadata, policies, disabled, revision, created_at, updated_at, seal)
       VALUES (?, ?, ?, ?, ?, ?, 0, ?, ?, ?)`,
      ...[id, name, name_key, metadata, policies, disabled, now, now],
      this.sealed.sealOf(row),
    );
  }

  update(before: EntityRow, write: EntityWrite, now: number): void {
    const name = write.name ?? before.name;
    const row: EntityRow = {
      ...before,
      name,
      name_key: nameKey(name),
      metadata: write.metadata ? JSON.stringify(write.metadata) : before.metadata,
      policies: write.policies ? JSON.stringify(write.policies) : before.policies,
      disabled: write.disabled === null ? before.disabled : write.disabled ? 1 : 0,
    };
    this.#noteReplaced(row);
    this.#sql.exec(
      `UPDATE OR REPLACE entities SET name = ?, name_key = ?, metadata = ?, policies = ?, disabled = ?, updated_at = ?, seal = ?
       WHERE id = ?`,
      ...[row.name, row.name_key, row.metadata, row.policies, row.disabled, now],
      this.sealed.sealOf(row),
      row.id,
    );
  }

  delete(id: string): void {
    this.#notes.changed(id);
    this.#sql.exec("DELETE FROM entities WHERE id = ?", id);
  }

  /** True when all of `ids` are entities. */
  allExist(ids: readonly string[]): boolean {
    const { found } = this.#sql
      .exec<{ found: number }>(
        "SELECT COUNT(*) AS found FROM entities WHERE id IN (SELECT value FROM json_each(?))",
        JSON.stringify(ids),
      )
      .one();
    return found === new Set(ids).size;
  }

  /** Notes the change of a row that is being written, and of one that it takes the place of. */
  #noteReplaced({ id, name }: EntityRow): void {
    this.#notes.changed(id);
    const other = this.idOfName(name);
    if (other !== null) this.#notes.changed(other);
  }

  #read(query: string, ...values: (string | number)[]): EntityRow[] {
    return this.sealed.admitted(this.#sql.exec<WithSeal<EntityRow>>(query, ...values).toArray());
  }
}

/** Metadata as stored. */
export function metadataOf(json: string): Metadata {
  return JSON.parse(json) as Metadata;
}

/** Names as stored. */
export function namesOf(json: string): string[] {
  return JSON.parse(json) as string[];
}
