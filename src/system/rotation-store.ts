import { ok, type Result, refuse } from "../base/result.ts";
import { SealedTable, type TableShape } from "../storage/sealed-table.ts";
import { columnOf } from "../storage/tables.ts";
import { SystemStore } from "./part-versions.ts";
import {
  changeRotation,
  DEFAULT_ROTATION,
  type KeyUse,
  type RotationChange,
  type RotationSettings,
} from "./rotation-rules.ts";

export const ROTATION_TABLES = `
  CREATE TABLE key_rotation (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    enabled INTEGER NOT NULL,
    max_operations INTEGER NOT NULL,
    interval INTEGER NOT NULL,
    seal BLOB
  );
  CREATE TABLE key_usage (term INTEGER PRIMARY KEY, encryptions INTEGER NOT NULL);
`;

interface SettingsRow extends Record<string, SqlStorageValue> {
  id: number;
  enabled: number;
  max_operations: number;
  interval: number;
}

const SETTINGS: TableShape = {
  table: "key_rotation",
  kind: "key rotation",
  key: ["id"],
  sealed: ["enabled", "max_operations", "interval"],
};

/**
 * The settings of key rotation, and the number of encryptions per term. Settings that were tampered with count as never
 * written. The counts have no seal: an attacker who lowers them delays a rotation. That brings no key near its limit,
 * as the values of each day have a derived key of their own.
 */
export class RotationStore extends SystemStore {
  readonly #sealed = new SealedTable<SettingsRow>(this.sql, this.seals, SETTINGS);

  /** The settings, or the defaults when there are none. */
  #settings(): RotationSettings {
    const row = this.#sealed.find(1);
    return row
      ? { enabled: row.enabled === 1, maxOperations: row.max_operations, interval: row.interval }
      : DEFAULT_ROTATION;
  }

  /** Changes the settings. A 400 for settings out of bounds. */
  configure(change: RotationChange): Result<null> {
    const changed = changeRotation(this.#settings(), change);
    if (!changed.ok) return refuse(changed.error);
    const { enabled, maxOperations, interval } = changed.value;
    this.#sealed.put({ id: 1, enabled: enabled ? 1 : 0, max_operations: maxOperations, interval });
    return ok(null);
  }

  /** The settings, and the reported number of encryptions under the data key of `term`. */
  useOf(term: number): KeyUse {
    const query = "SELECT encryptions FROM key_usage WHERE term = ?";
    return { settings: this.#settings(), encryptions: columnOf<number>(this.sql, query, term)[0] ?? 0 };
  }

  /** Adds `count` to the encryptions of `term`. */
  addEncryptions(term: number, count: number): void {
    const statement = `INSERT INTO key_usage (term, encryptions) VALUES (?, ?)
      ON CONFLICT (term) DO UPDATE SET encryptions = encryptions + excluded.encryptions`;
    this.sql.exec(statement, term, count);
  }
}
