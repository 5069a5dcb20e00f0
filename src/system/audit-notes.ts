import type { Ms } from "../base/clock.ts";
import { SealedTable, type TableShape } from "../storage/sealed-table.ts";
import { type Migration, Tables } from "../storage/tables.ts";
import { SystemStore } from "./part-versions.ts";

/** Number of the newest object of a shard of the audit store. */
export interface AuditObjectNumber {
  readonly shard: number;
  readonly number: number;
}

/** The schema of these numbers. Its versions are independent of those of the installation's schema. */
export const AUDIT_NUMBER_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "the newest object of each shard of the audit store",
    sql: "CREATE TABLE audit_numbers (shard INTEGER PRIMARY KEY, number INTEGER NOT NULL, seal BLOB);",
  },
];

const SHAPE: TableShape = { table: "audit_numbers", kind: "audit object number", key: ["shard"], sealed: ["number"] };

/**
 * The number of the newest object of each shard of the audit store. Their directory can't lose an entry without the
 * difference being seen.
 */
export class AuditNumberStore extends SystemStore {
  readonly #tables = new Tables(this.storage, AUDIT_NUMBER_MIGRATIONS, "audit_numbers");
  readonly #sealed = new SealedTable<{ shard: number; number: number }>(this.#tables, this.seals, SHAPE);

  /** Stores numbers that are greater than the stored ones. Returns all stored ones. */
  note(numbers: readonly AuditObjectNumber[]): AuditObjectNumber[] {
    const known = new Map(this.#sealed.list().map(({ shard, number }) => [shard, number]));
    for (const { shard, number } of numbers) {
      if (number <= (known.get(shard) ?? 0)) continue;
      this.#sealed.put({ shard, number });
      known.set(shard, number);
    }
    return [...known].map(([shard, number]) => ({ shard, number }));
  }

  /** Forgets all numbers: a restored installation begins another audit store. */
  clear(): void {
    this.#tables.exec("DELETE FROM audit_numbers");
  }
}

/** Answered changes of an isolate that the audit store has not taken. If the isolate ends, they are lost. */
export interface AuditBacklogNote {
  /** The random name of the isolate. */
  readonly writer: string;
  /** When the first was answered, and when the note was written. */
  readonly since: Ms;
  readonly at: Ms;
  /** There are at most so many. */
  readonly most: number;
}

export const AUDIT_BACKLOG_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "isolates with answered changes that the audit store has not taken",
    sql: `CREATE TABLE audit_backlogs (
      writer TEXT PRIMARY KEY,
      since INTEGER NOT NULL,
      at INTEGER NOT NULL,
      most INTEGER NOT NULL,
      seal BLOB
    ) WITHOUT ROWID;`,
  },
];

const BACKLOG: TableShape = {
  table: "audit_backlogs",
  kind: "audit backlog",
  key: ["writer"],
  sealed: ["since", "at", "most"],
};
/** Maximum number of notes. Those of more isolates are left out. */
const MAX_BACKLOGS = 1000;

/** What isolates could not store. A note outlives its isolate, so that a loss is on record. */
export class AuditBacklogStore extends SystemStore {
  readonly #tables = new Tables(this.storage, AUDIT_BACKLOG_MIGRATIONS, "audit_backlogs");
  readonly #sealed = new SealedTable<{ writer: string; since: Ms; at: Ms; most: number }>(
    this.#tables,
    this.seals,
    BACKLOG,
  );

  /** Creates or replaces the note of an isolate. `most` 0 deletes it. */
  note({ writer, since, at, most }: AuditBacklogNote): void {
    if (most === 0) this.#sealed.delete(writer);
    else if (this.#sealed.count() < MAX_BACKLOGS || this.#sealed.find(writer))
      this.#sealed.put({ writer, since, at, most });
  }

  all(): AuditBacklogNote[] {
    return this.#sealed.list("ORDER BY since").map(({ writer, since, at, most }) => ({ writer, since, at, most }));
  }

  clear(): void {
    this.#tables.exec("DELETE FROM audit_backlogs");
  }
}
