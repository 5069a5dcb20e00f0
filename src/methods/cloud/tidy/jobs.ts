import { DEFAULT_TIDY, type TidyList } from "../config/tidy-settings.ts";
import { isStillGenuine } from "../deny-list/entry.ts";
import type { ExpiringRows, Swept } from "../expiring-rows.ts";
import type { CloudStore } from "../store.ts";

/** Rows that one step removes. */
const STEP_ROWS = 500;
/** Steps of one alarm. What is left is the next alarm's, so that nothing else waits long. */
const ALARM_STEPS = 64;
/** A denied tag whose role is still there is looked at again after this time. */
const STILL_DENIED_MS = 24 * 3_600_000;
/** Periodic runs begin on the hour: entries that end at many moments are removed together. */
const PERIOD_MS = 3_600_000;

const LISTS: readonly TidyList[] = ["access", "deny"];

interface JobRow extends Record<string, SqlStorageValue> {
  list: TidyList;
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
 * The removal of ended entries from the two lists. A job is a row, one a list, so that it goes on after a crash where it
 * was; every step is a transaction of bounded size.
 */
export class TidyJobs {
  readonly #store: CloudStore;

  constructor(store: CloudStore) {
    this.#store = store;
  }

  /**
   * Begins to remove what ended more than `safetyBuffer` seconds before `now` (ms).
   *
   * @returns false when a job of that list is under way already; then nothing changes.
   */
  start(list: TidyList, safetyBuffer: number, now: number): boolean {
    // An object without tables has nothing to remove.
    if (!this.#store.exists) return true;
    const started = this.#store.sql.exec(
      "INSERT OR IGNORE INTO tidy_jobs (list, cutoff, removed) VALUES (?, ?, 0)",
      list,
      now - safetyBuffer * 1000,
    );
    return started.rowsWritten > 0;
  }

  /** Begins the periodic jobs that are due at `now` (ms). */
  startPeriodic(now: number): void {
    for (const list of LISTS) {
      const due = this.#dueAt(list);
      if (due !== null && due <= now) this.start(list, this.#settings(list).safetyBuffer, now);
    }
  }

  /** Works on what has begun, for a bounded number of steps. Returns the jobs that are done. `now` in ms. */
  run(now: number): TidyReport[] {
    const done: TidyReport[] = [];
    for (let step = 0; step < ALARM_STEPS; step++) {
      const job = this.#next();
      if (!job) break;
      const { met, removed } = this.#sweep(job, now);
      if (met === STEP_ROWS) {
        this.#store.sql.exec("UPDATE tidy_jobs SET removed = removed + ? WHERE list = ?", removed, job.list);
      } else {
        this.#store.sql.exec("DELETE FROM tidy_jobs WHERE list = ?", job.list);
        done.push({ list: job.list, removed: job.removed + removed, unreadable: this.#rows(job.list).unreadable() });
      }
    }
    return done;
  }

  /** When there is something to do next (ms), or null. */
  nextRunAt(now: number): number | null {
    if (this.#next()) return now;
    const due = LISTS.map((list) => this.#dueAt(list)).filter((at) => at !== null);
    if (due.length === 0) return null;
    return Math.ceil(Math.max(now, Math.min(...due)) / PERIOD_MS) * PERIOD_MS;
  }

  #sweep({ list, cutoff }: JobRow, now: number): Swept {
    const { accessList, denyList, roles } = this.#store;
    if (list === "access") return accessList.sweep(cutoff, STEP_ROWS, now, () => false);
    return denyList.sweep(cutoff, STEP_ROWS, now + STILL_DENIED_MS, (tag, entry) =>
      isStillGenuine(tag, entry, (name) => roles.read(name)),
    );
  }

  #next(): JobRow | null {
    if (!this.#store.exists) return null;
    return this.#store.sql.exec<JobRow>("SELECT * FROM tidy_jobs ORDER BY list LIMIT 1").toArray()[0] ?? null;
  }

  /** When the first entry of a list may be removed: after its end and the safety buffer. null when not periodically. */
  #dueAt(list: TidyList): number | null {
    const { safetyBuffer, disablePeriodicTidy } = this.#settings(list);
    const end = disablePeriodicTidy ? null : this.#rows(list).earliestEnd();
    return end === null ? null : end + safetyBuffer * 1000 + 1;
  }

  #settings(list: TidyList) {
    return this.#store.tidy[list].read() ?? DEFAULT_TIDY;
  }

  #rows(list: TidyList): ExpiringRows<{ readonly expiresAt: number }> {
    return list === "access" ? this.#store.accessList : this.#store.denyList;
  }
}
