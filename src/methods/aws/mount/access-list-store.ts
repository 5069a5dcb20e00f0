import type { RowSeals } from "../../../storage/row-seals.ts";
import { type Migration, Schema } from "../../../storage/schema.ts";
import type { AccessEntry } from "../rules/access-entry.ts";
import { ExpiringRows } from "./expiring-rows.ts";
import type { RowsHost } from "./rows.ts";
import { TIDY_JOBS_TABLE } from "./tidy-jobs.ts";

export const CLOUD_ACCESS_LIST_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "a shard of the access list of a mount, and where it is",
    sql: `
      CREATE TABLE access_list (name TEXT PRIMARY KEY, value TEXT NOT NULL, expires_at INTEGER NOT NULL, seal BLOB)
        WITHOUT ROWID;
      CREATE INDEX access_list_by_end ON access_list (expires_at);
      CREATE TABLE place (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        mount TEXT NOT NULL,
        shard INTEGER NOT NULL
      );
      ${TIDY_JOBS_TABLE}
    `,
  },
];

/** Where a shard is. */
export interface ShardPlace {
  /** The uuid of the mount. */
  readonly mount: string;
  readonly shard: number;
}

type PlaceRow = { mount: string; shard: number };

/** What is stored of a shard. */
export class AccessListStore implements RowsHost {
  readonly sql: SqlStorage;
  readonly seals: RowSeals;
  readonly entries: ExpiringRows<AccessEntry>;
  readonly #schema: Schema;
  /** The row of the place, once it was read: every login needs it. */
  #known: ShardPlace | null = null;

  constructor(sql: SqlStorage, seals: RowSeals) {
    this.sql = sql;
    this.seals = seals;
    this.#schema = new Schema(sql, CLOUD_ACCESS_LIST_MIGRATIONS);
    this.entries = new ExpiringRows(this, "access_list", "access list entry");
  }

  get exists(): boolean {
    return this.#schema.exists;
  }

  create(): void {
    this.#schema.create();
  }

  forget(): void {
    this.#schema.forget();
    this.#known = null;
  }

  /** Where this shard is; null until something was written. */
  place(): ShardPlace | null {
    if (!this.exists) return null;
    this.#known ??= this.sql.exec<PlaceRow>("SELECT mount, shard FROM place").toArray()[0] ?? null;
    return this.#known;
  }

  /** Notes where this shard is. */
  notePlace({ mount, shard }: ShardPlace): void {
    this.create();
    this.sql.exec("INSERT OR REPLACE INTO place (id, mount, shard) VALUES (1, ?, ?)", mount, shard);
    this.#known = { mount, shard };
  }
}
