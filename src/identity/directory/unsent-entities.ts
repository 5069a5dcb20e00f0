import { currentTime } from "../../base/clock.ts";
import type { RowSeals } from "../../storage/row-seals.ts";
import { SealedTable, type TableShape } from "../../storage/sealed-table.ts";
import { type Migration, type Sql, Tables } from "../../storage/tables.ts";

export const DIRECTORY_VERSION_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "the version of what shards are sent, with a seal",
    sql: "CREATE TABLE directory_version (id INTEGER PRIMARY KEY CHECK (id = 1), version INTEGER NOT NULL, seal BLOB);",
  },
];

/**
 * Shards ignore entries that are older than the last one. Without the seal an attacker who can write the storage could
 * raise the version once, and no later change of a name or of groups would reach the entities that changed meanwhile.
 */
const VERSION: TableShape = {
  table: "directory_version",
  kind: "directory version",
  key: ["id"],
  sealed: ["version"],
};

/** An entity that its shard must be notified of, and the version of its last change. */
export type UnsentEntity = { id: string; version: number };

/**
 * The outbox of the directory: entities whose shards must be sent their name and groups, and the version of the last
 * change. An entry that is sent is complete and has a version, so entries may arrive twice and in any order.
 */
export class UnsentEntities {
  readonly #sql: Sql;
  readonly #versionTables: Tables;
  readonly #version: SealedTable<{ id: number; version: number }>;

  /** @param storage of the object, with the table of the version. */
  constructor(sql: Sql, storage: SqlStorage, seals: RowSeals) {
    this.#sql = sql;
    this.#versionTables = new Tables(storage, DIRECTORY_VERSION_MIGRATIONS, "directory_version");
    this.#version = new SealedTable(this.#versionTables, seals, VERSION);
  }

  /** Creates the table of the version. Safe to repeat. */
  createTables(): void {
    this.#versionTables.create();
  }

  /** Queues entities with a new version, in the transaction of their change. */
  add(ids: ReadonlySet<string>): void {
    if (ids.size === 0) return;
    const version = this.#nextVersion();
    for (const id of ids) {
      this.#sql.exec("INSERT OR REPLACE INTO unsent (entity_id, version) VALUES (?, ?)", id, version);
    }
  }

  /** At most `limit` queued entities. */
  next(limit: number): UnsentEntity[] {
    return this.#sql.exec<UnsentEntity>("SELECT entity_id AS id, version FROM unsent LIMIT ?", limit).toArray();
  }

  /** Removes sent entities. One that changed meanwhile has another version and stays queued. */
  remove(sent: readonly UnsentEntity[]): void {
    for (const { id, version } of sent) {
      this.#sql.exec("DELETE FROM unsent WHERE entity_id = ? AND version = ?", id, version);
    }
  }

  /** The version of the entries that are sent now. */
  version(): number {
    return this.#lastVersion() ?? this.#nextVersion();
  }

  /**
   * Returns a version above the last one and not below the time in ms, so that a restored object repeats no version.
   */
  #nextVersion(): number {
    const version = Math.max((this.#lastVersion() ?? 0) + 1, currentTime());
    this.#version.put({ id: 1, version });
    return version;
  }

  /** null before the first change, and for a version that was tampered with. */
  #lastVersion(): number | null {
    return this.#version.find(1)?.version ?? null;
  }
}
