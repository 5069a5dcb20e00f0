import type { RowSeals } from "../../storage/row-seals.ts";
import { SealedTable, type TableShape, type WithSeal } from "../../storage/sealed-table.ts";
import type { OwnEntity, OwnEntityState } from "../model.ts";

interface Columns extends Record<string, SqlStorageValue> {
  entity_id: string;
  /** `OwnEntity` as JSON. */
  content: string;
  revision: string;
  /** ms. */
  taken_at: number;
}

/** A copy of an entity that is with `Identity`. */
export interface EntityCopy {
  readonly entity: OwnEntityState;
  /** As it is stored. */
  readonly content: string;
  /** When it was last compared with the entity (ms). */
  readonly takenAt: number;
}

/** Characters of a copy that is kept: a row of the platform has 2 MB at most. */
const MAX_CHARACTERS = 2 ** 18;

const SHAPE: TableShape = {
  table: "copies",
  kind: "entity copy",
  key: ["entity_id"],
  sealed: ["content", "revision", "taken_at"],
};

/** The table of a shard of copies of entities that are with `Identity`. One that was tampered with stays until it is recalled. */
export class CopyStore {
  readonly #sql: SqlStorage;
  /** The table as seals see it. */
  readonly sealed: SealedTable<Columns>;

  constructor(sql: SqlStorage, seals: RowSeals) {
    this.#sql = sql;
    this.sealed = new SealedTable(sql, seals, SHAPE);
  }

  read(entityId: string): EntityCopy | "tampered" | null {
    const [row] = this.#sql.exec<WithSeal<Columns>>("SELECT * FROM copies WHERE entity_id = ?", entityId).toArray();
    if (!row) return null;
    return this.sealed.admits(row) ? { entity: stateOf(row), content: row.content, takenAt: row.taken_at } : "tampered";
  }

  /** Keeps an entity, unless it is very large. It gets another revision unless it is what was kept `before`. `now` in ms. */
  keep(entity: OwnEntity, before: EntityCopy | null, now: number): OwnEntityState {
    const { id } = entity.entity;
    const content = JSON.stringify(entity);
    const revision = before?.content === content ? before.entity.revision : crypto.randomUUID();
    const row: Columns = { entity_id: id, content, revision, taken_at: now };
    if (content.length <= MAX_CHARACTERS) {
      this.#sql.exec(
        "INSERT OR REPLACE INTO copies (entity_id, content, revision, taken_at, seal) VALUES (?, ?, ?, ?, ?)",
        ...[id, content, revision, now],
        this.sealed.sealOf(row),
      );
    }
    return stateOf(row);
  }

  forget(entityId: string): void {
    this.#sql.exec("DELETE FROM copies WHERE entity_id = ?", entityId);
  }
}

function stateOf({ content, revision }: Columns): OwnEntityState {
  return { ...(JSON.parse(content) as OwnEntity), revision };
}
