import { currentTime } from "../../../base/clock.ts";
import type { ObjectAlarm } from "../../../storage/object-alarm.ts";
import { SealedValues } from "../../../storage/sealed-values.ts";
import type { Tables } from "../../../storage/tables.ts";
import type { TidyList, TidySettings } from "../rules/tidy-settings.ts";

/** Rows that one step removes. */
const STEP_ROWS = 500;
/** Steps of one alarm. The next alarm does the rest, so that other requests do not wait long. */
const ALARM_STEPS = 64;
/** An ended entry that has to stay is looked at again after this time. */
const STAYS_MS = 24 * 3_600_000;
/** Periodic runs begin on the hour: entries that end at many moments are removed together. */
const PERIOD_MS = 3_600_000;
/** Pause after an alarm that failed. */
const RETRY_MS = 30_000;

export const TIDY_JOBS_TABLE =
  "CREATE TABLE tidy_jobs (list TEXT PRIMARY KEY, cutoff INTEGER NOT NULL, removed INTEGER NOT NULL) WITHOUT ROWID;";

interface JobRow extends Record<string, SqlStorageValue> {
  cutoff: number;
  removed: number;
}

/** What a finished job did. */
interface TidyReport {
  readonly list: TidyList;
  readonly removed: number;
  /** Entries whose end is unreadable: they stay until an operator deletes them by name. */
  readonly unreadable: number;
}

/** The list of an object, and where it is stored. */
interface TidiedList<T extends { readonly expiresAt: number }> {
  readonly list: TidyList;
  readonly tables: Tables;
  readonly rows: ExpiringValues<T>;
  /** Whether an entry has to stay although it ended. */
  stays(name: string, value: T): boolean;
  /** The settings that decide when the alarm looks for ended entries. */
  pace(): TidySettings;
  /** The settings of the mount. It may fail; then the alarm tries again. */
  settings(): Promise<TidySettings>;
  /** Called with what a finished job did. */
  report(done: TidyReport): void;
}

/** The name of the duty, and the type of its lines in the log. */
const DUTY = "tidy";

/**
 * The removal of ended entries from the list of an object, by its alarm. A job is a row, so that it goes on where it was after a
 * crash; every step is a transaction of bounded size.
 */
export class ListTidy<T extends { readonly expiresAt: number }> {
  readonly #alarms: ObjectAlarm;
  readonly #of: TidiedList<T>;

  constructor(alarms: ObjectAlarm, of: TidiedList<T>) {
    this.#alarms = alarms;
    this.#of = of;
    alarms.add(DUTY, { dueAt: () => this.#dueAt(), run: () => this.#run(), pauseMs: () => RETRY_MS });
  }

  /** Sets the alarm for an entry that ends at `end` (ms). Reads nothing. */
  setAlarmForEnd(end: number): Promise<void> {
    return this.#alarms.atLatest(periodicRunAt(end, this.#of.pace()));
  }

  /**
   * Begins to remove what ended more than `safetyBuffer` seconds before `now` (ms).
   *
   * @returns false when a job is under way already; then nothing changes.
   */
  async start(safetyBuffer: number, now: number): Promise<boolean> {
    // An object without tables has nothing to remove.
    if (!this.#of.tables.exist) return true;
    const started = this.#start(safetyBuffer, now);
    this.#alarms.pause(DUTY, 0);
    await this.#alarms.set();
    return started;
  }

  #dueAt(): number | null {
    if (this.#job()) return 0;
    const { rows, pace } = this.#of;
    const settings = pace();
    const end = settings.disablePeriodicTidy ? null : rows.earliestEnd();
    return end === null ? null : periodicRunAt(end, settings);
  }

  async #run(): Promise<void> {
    const settings = await this.#of.settings();
    const now = currentTime();
    const end = settings.disablePeriodicTidy ? null : this.#of.rows.earliestEnd();
    if (end !== null && removableAt(end, settings) <= now) this.#start(settings.safetyBuffer, now);
    const done = this.#work(now);
    if (done) this.#of.report(done);
    // Entries that the mount's settings keep are looked at on the next hour, not at once.
    if (!this.#job()) this.#alarms.pause(DUTY, PERIOD_MS - (now % PERIOD_MS));
  }

  #start(safetyBuffer: number, now: number): boolean {
    const { tables, list } = this.#of;
    const insert = "INSERT OR IGNORE INTO tidy_jobs (list, cutoff, removed) VALUES (?, ?, 0)";
    return tables.exec(insert, list, now - safetyBuffer * 1000).rowsWritten > 0;
  }

  /** Works on the job for a bounded number of steps. Returns what was done once it is done. `now` in ms. */
  #work(now: number): TidyReport | null {
    const { tables, list, rows, stays } = this.#of;
    for (let step = 0; step < ALARM_STEPS; step++) {
      const job = this.#job();
      if (!job) return null;
      const { met, removed } = rows.sweep(job.cutoff, STEP_ROWS, now + STAYS_MS, stays);
      if (met < STEP_ROWS) {
        tables.exec("DELETE FROM tidy_jobs WHERE list = ?", list);
        return { list, removed: job.removed + removed, unreadable: rows.unreadable() };
      }
      tables.exec("UPDATE tidy_jobs SET removed = removed + ? WHERE list = ?", removed, list);
    }
    return null;
  }

  #job(): JobRow | null {
    const { tables, list } = this.#of;
    const query = "SELECT cutoff, removed FROM tidy_jobs WHERE list = ?";
    return tables.exec<JobRow>(query, list).toArray()[0] ?? null;
  }
}

/** When the periodic job removes an entry that ends at `end` (ms): the first full hour at which it may. */
function periodicRunAt(end: number, settings: TidySettings): number {
  return Math.ceil(removableAt(end, settings) / PERIOD_MS) * PERIOD_MS;
}

/** An entry may be removed after its end and the safety buffer (ms). */
function removableAt(end: number, { safetyBuffer }: TidySettings): number {
  return end + safetyBuffer * 1000 + 1;
}

/** What a step of the removal did. */
interface Swept {
  /** Rows that it looked at. */
  readonly met: number;
  readonly removed: number;
}

/**
 * A table of values, each of which ends at some time: it has a column `expires_at` (ms) with an index. Ended rows stay until they are
 * removed.
 */
export class ExpiringValues<T extends { readonly expiresAt: number }> extends SealedValues<T> {
  override write(name: string, value: T): void {
    super.write(name, value, { expires_at: value.expiresAt });
  }

  /**
   * Looks at the rows that ended first and removes those that `stays` does not keep. The others, and those whose value can't
   * be read, are looked at again later.
   *
   * @param cutoff ms: only rows that ended before it.
   * @param limit most rows to look at.
   * @param again when the rows that stay are looked at again (ms).
   */
  sweep(cutoff: number, limit: number, again: number, stays: (name: string, value: T) => boolean): Swept {
    const ended = this.sql
      .exec<{ name: string; value: string }>(
        `SELECT name, value FROM ${this.table} WHERE expires_at < ? ORDER BY expires_at LIMIT ?`,
        cutoff,
        limit,
      )
      .toArray();
    const { kept = [], gone = [] } = Object.groupBy(ended, ({ name, value }) =>
      staysOrUnreadable(name, value, stays) ? "kept" : "gone",
    );
    const named = "WHERE name IN (SELECT value FROM json_each(?))";
    if (kept.length > 0) {
      this.sql.exec(`UPDATE ${this.table} SET expires_at = ? ${named}`, again, namesOf(kept));
    }
    if (gone.length > 0) this.sql.exec(`DELETE FROM ${this.table} ${named}`, namesOf(gone));
    return { met: ended.length, removed: gone.length };
  }

  /** When the next row ends, or is to be looked at again (ms), or null. */
  earliestEnd(): number | null {
    const query = `SELECT MIN(expires_at) AS end FROM ${this.table}`;
    const end = this.sql.exec<{ end: SqlStorageValue }>(query).toArray()[0]?.end;
    return typeof end === "number" ? end : null;
  }

  /** Rows whose end can't be read, which only an operator removes. They sort behind all numbers in the index. */
  unreadable(): number {
    const query = `SELECT COUNT(*) AS n FROM ${this.table} WHERE expires_at >= ''`;
    return this.sql.exec<{ n: number }>(query).toArray()[0]?.n ?? 0;
  }
}

function namesOf(rows: readonly { readonly name: string }[]): string {
  return JSON.stringify(rows.map(({ name }) => name));
}

function staysOrUnreadable<T>(name: string, json: string, stays: (name: string, value: T) => boolean): boolean {
  try {
    const value: T = JSON.parse(json);
    return stays(name, value);
  } catch {
    return true;
  }
}
