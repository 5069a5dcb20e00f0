import type { TidyList, TidySettings } from "../rules/tidy-settings.ts";
import type { ExpiringRows } from "./expiring-rows.ts";
import type { RowsHost } from "./rows.ts";

/** Rows that one step removes. */
const STEP_ROWS = 500;
/** Steps of one alarm. What is left is the next alarm's, so that nothing else waits long. */
const ALARM_STEPS = 64;
/** An ended entry that has to stay is looked at again after this time. */
const STAYS_MS = 24 * 3_600_000;
/** Periodic runs begin on the hour: entries that end at many moments are removed together. */
const PERIOD_MS = 3_600_000;

export const TIDY_JOBS_TABLE =
  "CREATE TABLE tidy_jobs (list TEXT PRIMARY KEY, cutoff INTEGER NOT NULL, removed INTEGER NOT NULL) WITHOUT ROWID;";

interface JobRow extends Record<string, SqlStorageValue> {
  cutoff: number;
  removed: number;
}

/** What a finished job did. */
export interface TidyReport {
  readonly list: TidyList;
  readonly removed: number;
  /** Entries whose end is unreadable: they stay until an operator deletes them by name. */
  readonly unreadable: number;
}

/**
 * The removal of ended entries from a list. A job is a row, so that it goes on after a crash where it was; every step is a
 * transaction of bounded size.
 */
export class TidyJobs<T extends { readonly expiresAt: number }> {
  readonly #host: RowsHost;
  readonly #list: TidyList;
  readonly #rows: ExpiringRows<T>;
  readonly #stays: (name: string, value: T) => boolean;

  /** @param stays whether an entry has to stay although it ended. */
  constructor(host: RowsHost, list: TidyList, rows: ExpiringRows<T>, stays: (name: string, value: T) => boolean) {
    this.#host = host;
    this.#list = list;
    this.#rows = rows;
    this.#stays = stays;
  }

  /**
   * Begins to remove what ended more than `safetyBuffer` seconds before `now` (ms).
   *
   * @returns false when a job is under way already; then nothing changes.
   */
  start(safetyBuffer: number, now: number): boolean {
    // An object without tables has nothing to remove.
    if (!this.#host.exists) return true;
    const started = this.#host.sql.exec(
      "INSERT OR IGNORE INTO tidy_jobs (list, cutoff, removed) VALUES (?, ?, 0)",
      this.#list,
      now - safetyBuffer * 1000,
    );
    return started.rowsWritten > 0;
  }

  /** Begins the periodic job if it is due at `now` (ms). */
  startPeriodic(settings: TidySettings, now: number): void {
    const end = settings.disablePeriodicTidy ? null : this.#rows.earliestEnd();
    if (end !== null && mayGoAt(end, settings) <= now) this.start(settings.safetyBuffer, now);
  }

  /** Works on what has begun, for a bounded number of steps. Returns what was done once it is done. `now` in ms. */
  run(now: number): TidyReport | null {
    for (let step = 0; step < ALARM_STEPS; step++) {
      const job = this.#job();
      if (!job) return null;
      const { met, removed } = this.#rows.sweep(job.cutoff, STEP_ROWS, now + STAYS_MS, this.#stays);
      if (met === STEP_ROWS) {
        this.#host.sql.exec("UPDATE tidy_jobs SET removed = removed + ? WHERE list = ?", removed, this.#list);
      } else {
        this.#host.sql.exec("DELETE FROM tidy_jobs WHERE list = ?", this.#list);
        return { list: this.#list, removed: job.removed + removed, unreadable: this.#rows.unreadable() };
      }
    }
    return null;
  }

  /** True while a job has begun and is not done. */
  isUnderWay(): boolean {
    return this.#job() !== null;
  }

  /** When there is something to do next (ms), or null. */
  nextRunAt(settings: TidySettings, now: number): number | null {
    if (this.isUnderWay()) return now;
    const end = settings.disablePeriodicTidy ? null : this.#rows.earliestEnd();
    return end === null ? null : periodicRunAt(end, settings, now);
  }

  #job(): JobRow | null {
    if (!this.#host.exists) return null;
    return (
      this.#host.sql.exec<JobRow>("SELECT cutoff, removed FROM tidy_jobs WHERE list = ?", this.#list).toArray()[0] ??
      null
    );
  }
}

/** When the periodic job removes an entry that ends at `end` (ms): the first full hour from `now` (ms) at which it may go. */
export function periodicRunAt(end: number, settings: Pick<TidySettings, "safetyBuffer">, now: number): number {
  return Math.ceil(Math.max(now, mayGoAt(end, settings)) / PERIOD_MS) * PERIOD_MS;
}

/** An entry may be removed after its end and the safety buffer (ms). */
function mayGoAt(end: number, { safetyBuffer }: Pick<TidySettings, "safetyBuffer">): number {
  return end + safetyBuffer * 1000 + 1;
}
