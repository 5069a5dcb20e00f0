import { nameKey } from "../../base/name.ts";
import { RANDOM_REVISION } from "../../storage/revision.ts";
import type { RowSeals } from "../../storage/row-seals.ts";
import { SealedTable, type TableShape, type WithSeal } from "../../storage/sealed-table.ts";
import type { Metadata } from "../model.ts";

interface Columns extends Record<string, SqlStorageValue> {
  mount_accessor: string;
  /** The name in lower case. */
  alias_key: string;
  /** null: `Identity` has the alias. */
  id: string | null;
  alias_name: string;
  metadata: string;
  revision: number;
  leaving: number;
  created_at: number;
  updated_at: number;
  /** Where `Identity` has the alias: the entity that it probably belongs to. A hint without a seal: whoever uses it looks. */
  holder: string | null;
}

/** A row of an alias that this shard has, with its entity. */
export interface LoginRow extends Columns {
  id: string;
}

/** The answer of a shard about an alias that `Identity` has. */
export interface Elsewhere {
  /** Id of the entity that the alias probably belongs to; null when nobody knows. */
  readonly holder: string | null;
}

/** What a shard knows of an alias. "tampered": whoever wrote it, this installation did not. */
export type FoundAlias = LoginRow | Elsewhere | "tampered" | null;

const SHAPE: TableShape = {
  table: "logins",
  kind: "entity",
  key: ["mount_accessor", "alias_key"],
  sealed: ["id", "alias_name", "metadata"],
};

/** The table of a shard: aliases with the entities that logins made for them, and aliases that `Identity` has. */
export class LoginStore {
  readonly #sql: SqlStorage;
  /** The table as seals see it. */
  readonly sealed: SealedTable<Columns>;

  constructor(sql: SqlStorage, seals: RowSeals) {
    this.#sql = sql;
    this.sealed = new SealedTable(sql, seals, SHAPE);
  }

  byAlias(mountAccessor: string, name: string): FoundAlias {
    const query = "SELECT * FROM logins WHERE mount_accessor = ? AND alias_key = ?";
    const [row] = this.#sql.exec<WithSeal<Columns>>(query, mountAccessor, nameKey(name)).toArray();
    return row ? this.#judge(row) : null;
  }

  byId(id: string): LoginRow | "tampered" | null {
    const [row] = this.#sql.exec<WithSeal<Columns>>("SELECT * FROM logins WHERE id = ?", id).toArray();
    const found = row ? this.#judge(row) : null;
    return found === null || found === "tampered" || isHere(found) ? found : null;
  }

  /** At most `limit` with ids from `first` on, in their order. */
  list(first: string, limit: number): LoginRow[] {
    const query = "SELECT * FROM logins WHERE id IS NOT NULL AND id >= ? ORDER BY id LIMIT ?";
    return this.#good(this.#sql.exec<WithSeal<Columns>>(query, first, limit).toArray());
  }

  /** Those that are on their way to `Identity`. */
  leaving(): LoginRow[] {
    return this.#good(this.#sql.exec<WithSeal<Columns>>("SELECT * FROM logins WHERE leaving = 1").toArray());
  }

  /** How many entities there are, counted up to `most`: each costs the reading of a row. */
  count(most: number): number {
    const query = "SELECT COUNT(*) AS n FROM (SELECT 1 FROM logins WHERE id IS NOT NULL LIMIT ?)";
    return this.#sql.exec<{ n: number }>(query, most).one().n;
  }

  /** Adds an entity with its alias. Nobody has the alias yet. `now` in ms. */
  insert(id: string, mountAccessor: string, name: string, metadata: Metadata, now: number): LoginRow {
    const row = {
      mount_accessor: mountAccessor,
      alias_key: nameKey(name),
      id,
      alias_name: name,
      metadata: JSON.stringify(metadata),
      revision: 0,
      leaving: 0,
      created_at: now,
      updated_at: now,
      holder: null,
    };
    return { ...row, revision: this.#write(row) };
  }

  /** Stores what the last login said about the alias. `now` in ms. */
  update(before: LoginRow, metadata: Metadata, now: number): LoginRow {
    const row = { ...before, metadata: JSON.stringify(metadata), updated_at: now };
    return { ...row, revision: this.#write(row) };
  }

  /** Notes that the entity is on its way to `Identity`. */
  markLeaving({ id }: LoginRow): void {
    this.#sql.exec("UPDATE logins SET leaving = 1 WHERE id = ?", id);
  }

  /** Notes that `Identity` has the alias, in place of what was known of it, and who probably holds it. `now` in ms. */
  point(mountAccessor: string, name: string, holder: string | null, now: number): void {
    this.#write({
      mount_accessor: mountAccessor,
      alias_key: nameKey(name),
      id: null,
      alias_name: "",
      metadata: "{}",
      revision: 0,
      leaving: 0,
      created_at: now,
      updated_at: now,
      holder,
    });
  }

  /** Deletes an entity with its alias, also one that was tampered with. */
  delete(id: string): void {
    this.#sql.exec("DELETE FROM logins WHERE id = ?", id);
  }

  #judge(row: WithSeal<Columns>): Exclude<FoundAlias, null> {
    if (!this.sealed.admits(row)) return "tampered";
    return hasEntity(row) ? row : { holder: row.holder };
  }

  #good(rows: readonly WithSeal<Columns>[]): LoginRow[] {
    return this.sealed.admitted(rows).filter(hasEntity);
  }

  /** @returns the new revision. */
  #write(row: Columns): number {
    const { revision } = this.#sql
      .exec<{ revision: number }>(
        `INSERT OR REPLACE INTO logins
           (mount_accessor, alias_key, id, alias_name, metadata, revision, leaving, created_at, updated_at, holder, seal)
         VALUES (?, ?, ?, ?, ?, ${RANDOM_REVISION}, ?, ?, ?, ?, ?) RETURNING revision`,
        ...[row.mount_accessor, row.alias_key, row.id, row.alias_name, row.metadata],
        ...[row.leaving, row.created_at, row.updated_at, row.holder],
        this.sealed.sealOf(row),
      )
      .one();
    return revision;
  }
}

/** True when this shard has the entity of the alias. */
export function isHere(found: LoginRow | Elsewhere): found is LoginRow {
  return "id" in found;
}

function hasEntity<Row extends Columns>(row: Row): row is Row & LoginRow {
  return row.id !== null;
}
