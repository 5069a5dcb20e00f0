import type { Seconds } from "../base/clock.ts";
import { ok, type Result, refuse } from "../base/result.ts";
import { SealedTable, type TableShape } from "../storage/sealed-table.ts";
import { columnOf } from "../storage/tables.ts";
import {
  changeRotation,
  DEFAULT_ROTATION,
  type KeyUse,
  type RotationChange,
  type RotationSettings,
} from "./automatic-rotation.ts";
import { SystemStore } from "./part-versions.ts";

type SettingsRow = { id: number; enabled: number; max_operations: number; interval: Seconds };

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

  #settings(): RotationSettings {
    const row = this.#sealed.find(1);
    return row
      ? { enabled: row.enabled === 1, maxOperations: row.max_operations, interval: row.interval }
      : DEFAULT_ROTATION;
  }

  configure(change: RotationChange): Result<null> {
    const changed = changeRotation(this.#settings(), change);
    if (!changed.ok) return refuse(changed.error);
    const { enabled, maxOperations, interval } = changed.value;
    this.#sealed.put({ id: 1, enabled: enabled ? 1 : 0, max_operations: maxOperations, interval });
    return ok(null);
  }

  useOf(term: number): KeyUse {
    const query = "SELECT encryptions FROM key_usage WHERE term = ?";
    return { settings: this.#settings(), encryptions: columnOf<number>(this.sql, query, term)[0] ?? 0 };
  }

  addEncryptions(term: number, count: number): void {
    const statement = `INSERT INTO key_usage (term, encryptions) VALUES (?, ?)
      ON CONFLICT (term) DO UPDATE SET encryptions = encryptions + excluded.encryptions`;
    this.sql.exec(statement, term, count);
  }
}
