import { DEFAULT_ROTATION, type RotationSettings } from "./rotation-rules.ts";

/** The tables of key rotation. */
export const ROTATION_TABLES = `
  CREATE TABLE key_rotation (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    enabled INTEGER NOT NULL,
    max_operations INTEGER NOT NULL,
    interval INTEGER NOT NULL
  );
  CREATE TABLE key_usage (term INTEGER PRIMARY KEY, encryptions INTEGER NOT NULL);
`;

/** When keys are rotated, and how much each term was used. */
export class RotationStore {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  settings(): RotationSettings {
    const row = this.#sql
      .exec<{ enabled: number; max_operations: number; interval: number }>(
        "SELECT enabled, max_operations, interval FROM key_rotation",
      )
      .toArray()[0];
    return row
      ? { enabled: row.enabled === 1, maxOperations: row.max_operations, interval: row.interval }
      : DEFAULT_ROTATION;
  }

  writeSettings({ enabled, maxOperations, interval }: RotationSettings): void {
    this.#sql.exec(
      "INSERT OR REPLACE INTO key_rotation (id, enabled, max_operations, interval) VALUES (1, ?, ?, ?)",
      enabled ? 1 : 0,
      maxOperations,
      interval,
    );
  }

  /** Encryptions under the data key of `term` that were reported. */
  encryptions(term: number): number {
    const row = this.#sql
      .exec<{ encryptions: number }>("SELECT encryptions FROM key_usage WHERE term = ?", term)
      .toArray()[0];
    return row?.encryptions ?? 0;
  }

  addEncryptions(term: number, count: number): void {
    this.#sql.exec(
      `INSERT INTO key_usage (term, encryptions) VALUES (?, ?)
       ON CONFLICT (term) DO UPDATE SET encryptions = encryptions + excluded.encryptions`,
      term,
      count,
    );
  }
}
