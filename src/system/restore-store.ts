import { type Migration, Schema } from "../storage/schema.ts";

export const RESTORE_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "the backup that the installation is restored from",
    sql: "CREATE TABLE restores (one INTEGER PRIMARY KEY CHECK (one = 1), run TEXT NOT NULL, finished_at INTEGER);",
  },
];

/** The one restore of an installation: it begins before there are keys. */
export class RestoreStore {
  readonly #sql: SqlStorage;
  readonly #schema: Schema;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    this.#schema = new Schema(sql, RESTORE_MIGRATIONS, "restores");
  }

  /** The run that made the backup that is being restored; null: none is. */
  get running(): string | null {
    if (!this.#schema.exists) return null;
    const found = this.#sql.exec<{ run: string }>("SELECT run FROM restores WHERE finished_at IS NULL").toArray();
    return found[0]?.run ?? null;
  }

  /** True when the restore of this run has ended. */
  hasFinished(run: string): boolean {
    if (!this.#schema.exists) return false;
    return this.#sql.exec("SELECT 1 FROM restores WHERE run = ? AND finished_at IS NOT NULL", run).toArray().length > 0;
  }

  /** Notes the begin. */
  begin(run: string): void {
    this.#schema.create();
    this.#sql.exec("INSERT INTO restores (one, run) VALUES (1, ?)", run);
  }

  /** Notes the end, at `now` (ms). */
  finish(now: number): void {
    this.#sql.exec("UPDATE restores SET finished_at = ?", now);
  }
}
