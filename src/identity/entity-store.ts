import { nameKey } from "../base/name.ts";
import { RANDOM_REVISION } from "../storage/revision.ts";
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

/** The table of entities. */
export class EntityStore {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  byId(id: string): EntityRow | null {
    return this.#sql.exec<EntityRow>("SELECT * FROM entities WHERE id = ?", id).toArray()[0] ?? null;
  }

  byName(name: string): EntityRow | null {
    return this.#sql.exec<EntityRow>("SELECT * FROM entities WHERE name_key = ?", nameKey(name)).toArray()[0] ?? null;
  }

  /** At most `limit` after `after`, which is an id or a name like the order. */
  list(order: "id" | "name", after: string, limit: number): EntityRow[] {
    const column = order === "id" ? "id" : "name_key";
    return this.#sql
      .exec<EntityRow>(
        `SELECT * FROM entities WHERE ${column} > ? ORDER BY ${column} LIMIT ?`,
        order === "id" ? after : nameKey(after),
        limit,
      )
      .toArray();
  }

  insert(id: string, name: string, write: Omit<EntityWrite, "name">, now: number): void {
    this.#sql.exec(
      `INSERT INTO entities (id, name, name_key, metadata, policies, disabled, revision, created_at, updated_at)
       VALUES (?, ?, ?, ?, ?, ?, ${RANDOM_REVISION}, ?, ?)`,
      id,
      name,
      nameKey(name),
      JSON.stringify(write.metadata ?? {}),
      JSON.stringify(write.policies ?? []),
      write.disabled ? 1 : 0,
      now,
      now,
    );
  }

  update(row: EntityRow, write: EntityWrite, now: number): void {
    const name = write.name ?? row.name;
    this.#sql.exec(
      `UPDATE entities SET name = ?, name_key = ?, metadata = ?, policies = ?, disabled = ?, updated_at = ?,
         revision = ${RANDOM_REVISION}
       WHERE id = ?`,
      name,
      nameKey(name),
      write.metadata ? JSON.stringify(write.metadata) : row.metadata,
      write.policies ? JSON.stringify(write.policies) : row.policies,
      write.disabled === null ? row.disabled : write.disabled ? 1 : 0,
      now,
      row.id,
    );
  }

  /** Marks that something about the entity changed outside its row. */
  touch(id: string): void {
    this.#sql.exec(`UPDATE entities SET revision = ${RANDOM_REVISION} WHERE id = ?`, id);
  }

  delete(id: string): void {
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
}

/** Metadata as stored. */
export function metadataOf(json: string): Metadata {
  return JSON.parse(json) as Metadata;
}

/** Names as stored. */
export function namesOf(json: string): string[] {
  return JSON.parse(json) as string[];
}
