import { type ExpectedChanges, oldestThatMatters } from "./expected-changes.ts";

export const EXPECTED_CHANGE_TABLE =
  "CREATE TABLE expected_changes (part INTEGER PRIMARY KEY, announced_at INTEGER NOT NULL);";

/** The table of the parts of entities and groups of which changes were announced lately. */
export class ExpectedChangeStore {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  all(): ExpectedChanges {
    const rows = this.#sql.exec<{ part: number; announced_at: number }>("SELECT * FROM expected_changes").toArray();
    return new Map(rows.map(({ part, announced_at }) => [part, announced_at]));
  }

  /** Notes that changes of `parts` are announced at `now` (ms), and drops what decides nothing any more. */
  announce(parts: readonly number[], now: number): void {
    this.#sql.exec("DELETE FROM expected_changes WHERE announced_at < ?", oldestThatMatters(now));
    for (const part of parts) {
      this.#sql.exec(
        `INSERT INTO expected_changes (part, announced_at) VALUES (?, ?)
         ON CONFLICT (part) DO UPDATE SET announced_at = max(announced_at, excluded.announced_at)`,
        part,
        now,
      );
    }
  }
}
