import type { RowSeals } from "../../../storage/row-seals.ts";
import { type Migration, Schema } from "../../../storage/schema.ts";
import { ExpiringRows } from "../expiring-rows.ts";
import type { RowsHost } from "../rows.ts";
import { TIDY_JOBS_TABLE } from "../tidy/jobs.ts";
import type { AccessEntry, OldEntry } from "./entry.ts";

export const CLOUD_ACCESS_LIST_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "a shard of the access list of a mount, and how far it has taken over what was in the mount's object",
    sql: `
      CREATE TABLE access_list (name TEXT PRIMARY KEY, value TEXT NOT NULL, expires_at INTEGER NOT NULL, seal BLOB)
        WITHOUT ROWID;
      CREATE INDEX access_list_by_end ON access_list (expires_at);
      CREATE TABLE place (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        mount TEXT NOT NULL,
        shard INTEGER NOT NULL,
        taken_over TEXT
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

interface PlaceRow extends Record<string, SqlStorageValue> {
  mount: string;
  shard: number;
  /** The last instance up to which old entries were taken over; null when there are none left. */
  taken_over: string | null;
}

/** A seal that fits nothing. */
const NO_SEAL = new Uint8Array(32);

/** What is stored of a shard. */
export class AccessListStore implements RowsHost {
  readonly sql: SqlStorage;
  readonly seals: RowSeals;
  readonly entries: ExpiringRows<AccessEntry>;
  readonly #schema: Schema;
  /** The row of the place, once it was read: every login needs it. */
  #known: PlaceRow | null = null;

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
    return this.#row();
  }

  /** The last instance up to which old entries were taken over; null when all were, "" at the beginning. */
  takenOver(): string | null {
    const row = this.#row();
    return row ? row.taken_over : "";
  }

  /** Notes where this shard is, and how far old entries were taken over. */
  notePlace({ mount, shard }: ShardPlace, upTo: string | null): void {
    this.create();
    this.sql.exec(
      "INSERT OR REPLACE INTO place (id, mount, shard, taken_over) VALUES (1, ?, ?, ?)",
      mount,
      shard,
      upTo,
    );
    this.#known = { mount, shard, taken_over: upTo };
  }

  /** Takes over entries of before, but none of an instance that has one here: that is newer. */
  takeOver(old: readonly OldEntry[]): void {
    for (const { instanceId, entry } of old) {
      if (entry) this.entries.writeNew(instanceId, entry);
      else this.#writeTampered(instanceId);
    }
  }

  /** An entry that was tampered with stays one: without it the instance could log in as for the first time. */
  #writeTampered(instanceId: string): void {
    this.create();
    this.sql.exec(
      // An end that is no number: it stays until somebody deletes it by name.
      "INSERT OR IGNORE INTO access_list (name, value, expires_at, seal) VALUES (?, 'null', 'tampered', ?)",
      instanceId,
      NO_SEAL,
    );
  }

  #row(): PlaceRow | null {
    if (!this.exists) return null;
    this.#known ??= this.sql.exec<PlaceRow>("SELECT mount, shard, taken_over FROM place").toArray()[0] ?? null;
    return this.#known;
  }
}
