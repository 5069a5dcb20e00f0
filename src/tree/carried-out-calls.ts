import { currentTime, type Ms } from "../base/clock.ts";
import { type Migration, type SchemaVersions, Tables } from "../storage/tables.ts";
import type { CallAttempt } from "../token/actions.ts";

export const CARRIED_OUT_CALL_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "calls that counted a use or ended a token, by token",
    sql: `
      CREATE TABLE carried_out (
        call TEXT NOT NULL,
        row INTEGER NOT NULL,
        effect TEXT NOT NULL,
        at INTEGER NOT NULL,
        PRIMARY KEY (call, row, effect)
      ) WITHOUT ROWID;
    `,
  },
];

/** Longer than a call can be repeated, with the difference of the clocks of two nodes. */
const KEPT_MS: Ms = 60_000;

/** What a call must not do twice to a token: count its use, or end it. */
type Effect = "use" | "end";

/**
 * The calls of the last minute that counted a use of a token of this tree, or ended one. A cluster repeats lost calls,
 * also at the next owner of the tree. By these rows the tree recognises a call whose first attempt was carried out. A
 * row is written in the transaction of its effect.
 */
export class CarriedOutCalls {
  readonly #tables: Tables;
  #prunedAt: Ms = 0;

  constructor(sql: SqlStorage, versions: SchemaVersions) {
    this.#tables = new Tables(sql, CARRIED_OUT_CALL_MIGRATIONS, "carried_out", versions);
  }

  /** Resets the store while the storage of the tree is deleted. */
  forget(): void {
    this.#tables.forget();
  }

  /** True when an earlier attempt of this call had the effect on the token of this row. */
  has({ callId, again }: CallAttempt, row: number, effect: Effect): boolean {
    if (!again || callId === undefined) return false;
    const query = "SELECT 1 FROM carried_out WHERE call = ? AND row = ? AND effect = ?";
    return this.#tables.exec(query, callId, row, effect).toArray().length > 0;
  }

  /** Called in the transaction of the effect. */
  add({ callId }: CallAttempt, row: number, effect: Effect): void {
    if (callId === undefined) return;
    const now = currentTime();
    this.#prune(now);
    const statement = "INSERT OR IGNORE INTO carried_out (call, row, effect, at) VALUES (?, ?, ?, ?)";
    this.#tables.exec(statement, callId, row, effect, now);
  }

  #prune(now: Ms): void {
    if (now - this.#prunedAt < KEPT_MS) return;
    this.#tables.exec("DELETE FROM carried_out WHERE at < ?", now - KEPT_MS);
    this.#prunedAt = now;
  }
}
