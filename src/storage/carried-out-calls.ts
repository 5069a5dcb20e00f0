import { currentTime, type Ms } from "../base/clock.ts";
import type { CallAttempt } from "../base/lost-call-retry.ts";
import { LOST } from "../base/platform-errors.ts";
import { err, NOT_FOUND, ok, type Result } from "../base/result.ts";
import { type Migration, type SchemaVersions, storedJson, Tables } from "./tables.ts";

export const CARRIED_OUT_CALL_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "calls that had an effect; row: of a token in its tree",
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
  {
    version: 2,
    description: "answers of calls",
    sql: "ALTER TABLE carried_out ADD COLUMN answer TEXT;",
    readableFrom: 1,
  },
];

/** Longer than a call can be repeated, with the difference of the clocks of two nodes. */
export const CALLS_KEPT_MS: Ms = 60_000;

/** What a call must not do twice: count a use, end a token, write. */
type Effect = "use" | "end" | "write";

/**
 * The calls of the last minute that had an effect on this object, or on a token of this tree. A cluster repeats lost
 * calls, also at the next owner of the object. By these rows the object recognises another attempt of a call that was
 * carried out: the repetition, or a first attempt that arrives after it. A row is written in the transaction of its
 * effect.
 */
export class CarriedOutCalls {
  readonly #tables: Tables;
  #prunedAt: Ms = 0;

  constructor(sql: SqlStorage, versions: SchemaVersions) {
    this.#tables = new Tables(sql, CARRIED_OUT_CALL_MIGRATIONS, "carried_out", versions);
  }

  /** Resets the store while the storage of the object is deleted. */
  forget(): void {
    this.#tables.forget();
  }

  /**
   * Makes a change, unless another attempt of its call has: then its answer is the answer of that attempt. `change` has
   * no await, so the row is written in its transaction. A change that is refused is not kept.
   */
  once<T>(attempt: CallAttempt, change: () => Result<T>): Result<T> {
    if (attempt.callId === undefined) return change();
    const query = "SELECT answer FROM carried_out WHERE call = ? AND row = 0 AND effect = 'write'";
    const [made] = this.#tables.exec<{ answer: string | null }>(query, attempt.callId).toArray();
    // An earlier release kept no answer.
    if (made) return made.answer === null ? err(LOST) : ok(storedJson<T>(made.answer));
    const changed = change();
    if (changed.ok) this.#add(attempt.callId, "write", 0, JSON.stringify(changed.value ?? null));
    return changed;
  }

  /** `once`, for a change that says whether it was made. */
  made(attempt: CallAttempt, change: () => boolean): boolean {
    return this.once(attempt, () => (change() ? ok(null) : NOT_FOUND)).ok;
  }

  /** True when another attempt of this call had the effect. @param row of the token in its tree. */
  has({ callId }: CallAttempt, effect: Effect, row = 0): boolean {
    if (callId === undefined) return false;
    const query = "SELECT 1 FROM carried_out WHERE call = ? AND row = ? AND effect = ?";
    return this.#tables.exec(query, callId, row, effect).toArray().length > 0;
  }

  /** Called in the transaction of the effect. */
  add({ callId }: CallAttempt, effect: Effect, row = 0): void {
    if (callId !== undefined) this.#add(callId, effect, row, null);
  }

  #add(callId: string, effect: Effect, row: number, answer: string | null): void {
    const now = currentTime();
    this.#prune(now);
    const statement = "INSERT OR IGNORE INTO carried_out (call, row, effect, at, answer) VALUES (?, ?, ?, ?, ?)";
    this.#tables.exec(statement, callId, row, effect, now, answer);
  }

  #prune(now: Ms): void {
    if (now - this.#prunedAt < CALLS_KEPT_MS) return;
    this.#tables.exec("DELETE FROM carried_out WHERE at < ?", now - CALLS_KEPT_MS);
    this.#prunedAt = now;
  }
}
