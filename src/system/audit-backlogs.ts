import type { Ms } from "../base/clock.ts";
import { SealedTable, type TableShape } from "../storage/sealed-table.ts";
import { type Migration, Tables } from "../storage/tables.ts";
import { SystemStore } from "./part-versions.ts";

/** Answered changes of an isolate that the audit store has not taken. If the isolate ends, they are lost. */
export interface AuditBacklogNote {
  /** The random name of the isolate. */
  readonly writer: string;
  /** When the first was answered, and when the note was written. */
  readonly since: Ms;
  readonly at: Ms;
  /** Upper bound of their number. */
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

const SHAPE: TableShape = {
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
    SHAPE,
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
