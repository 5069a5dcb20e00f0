import { currentTime, type Ms, type Seconds } from "../../../base/clock.ts";
import { ok, type Result, refuse } from "../../../base/result.ts";
import type { SealedKind } from "../../../crypto/row-keys.ts";
import type { ObjectAlarm } from "../../../storage/object-alarm.ts";
import type { RowSeals } from "../../../storage/row-seals.ts";
import { SealedValues } from "../../../storage/sealed-table.ts";
import { columnOf, type Tables } from "../../../storage/tables.ts";
import { fieldSchema, type Values } from "../../../wire/field-schema.ts";
import { duration, flag, onlySent, sent } from "../../../wire/fields.ts";
import { view } from "../../../wire/view.ts";

/** The lists of entries with an expiry: logins of instances, and denied role tags. */
export type TidyList = "access" | "deny";

/** `safetyBuffer`: time from the end of an entry to its removal. */
export type TidySettings = { readonly safetyBuffer: Seconds; readonly disablePeriodicTidy: boolean };

export const DEFAULT_TIDY: TidySettings = { safetyBuffer: 72 * 3600, disablePeriodicTidy: false };

export const TIDY_FIELDS = fieldSchema({
  safety_buffer: sent(duration()).describe("Time from the end of an entry to its removal"),
  disable_periodic_tidy: sent(flag(false)).describe("True: entries are only removed on demand"),
});

/** Checks a write of tidy settings. Returns the changes, or a 400. */
export function readTidyChange(fields: Values<typeof TIDY_FIELDS>): Result<Partial<TidySettings>> {
  const buffer = readSafetyBuffer(fields.safety_buffer);
  if (!buffer.ok) return buffer;
  return ok(onlySent({ safetyBuffer: buffer.value, disablePeriodicTidy: fields.disable_periodic_tidy }));
}

/** A safety buffer, as sent; a negative one is a 400. */
export function readSafetyBuffer(sentBuffer: Seconds | undefined): Result<number | undefined> {
  if (sentBuffer === undefined || sentBuffer >= 0) return ok(sentBuffer);
  return refuse('error converting input for field "safety_buffer": cannot provide negative value');
}

export const TIDY_VIEW = view<TidySettings>({
  safety_buffer: ["integer", (settings) => settings.safetyBuffer],
  disable_periodic_tidy: ["boolean", (settings) => settings.disablePeriodicTidy],
});

/** Limits of a step and of an alarm. The next alarm continues, so that other requests do not wait long. */
const STEP_ROWS = 500;
const ALARM_STEPS = 64;
/** An entry that has to stay after its end is checked again after this time. */
const STAYS_MS = 24 * 3_600_000;
/** Periodic runs begin on the hour, so that one run removes the entries that end at different moments. */
const PERIOD_MS = 3_600_000;
/** Pause after an alarm that failed. */
const RETRY_MS = 30_000;

/** A job removes the entries that ended before `cutoff`. */
export const TIDY_JOBS_TABLE =
  "CREATE TABLE tidy_jobs (list TEXT PRIMARY KEY, cutoff INTEGER NOT NULL, removed INTEGER NOT NULL) WITHOUT ROWID;";

type JobRow = { cutoff: Ms; removed: number };

/** `unreadable`: entries without a readable end. They stay until an operator deletes them by name. */
type TidyReport = { readonly list: TidyList; readonly removed: number; readonly unreadable: number };

interface ListOptions<T> {
  readonly list: TidyList;
  readonly table: string;
  readonly kind: SealedKind;
  /** True for an entry that has to stay after its end. */
  stays(name: string, value: T): boolean;
  /** The settings from which the time of the alarm follows. */
  pace(): TidySettings;
  /** The settings of the mount. When this fails, the alarm tries again. */
  settings(): Promise<TidySettings>;
  report(done: TidyReport): void;
}

const DUTY = "tidy";

/**
 * A table of values with an expiry, stored also in an indexed column `expires_at`. The alarm of the object removes
 * ended entries. A job is a row, so it continues after a crash; each step is a transaction of bounded size.
 */
export class ExpiringList<T extends { readonly expiresAt: Ms }> extends SealedValues<T> {
  readonly #alarms: ObjectAlarm;
  readonly #tables: Tables;
  readonly #options: ListOptions<T>;

  constructor(alarms: ObjectAlarm, tables: Tables, seals: RowSeals, options: ListOptions<T>) {
    super(tables, seals, options.table, options.kind);
    this.#alarms = alarms;
    this.#tables = tables;
    this.#options = options;
    alarms.add(DUTY, { dueAt: () => this.#dueAt(), run: () => this.#run(), pauseMs: () => RETRY_MS });
  }

  override write(name: string, value: T): void {
    super.write(name, value, { expires_at: value.expiresAt });
  }

  /** Sets the alarm for an entry that ends at `end`. Reads nothing. */
  setAlarmForEnd(end: Ms): Promise<void> {
    return this.#alarms.atLatest(periodicRunAt(end, this.#options.pace()));
  }

  /** Starts to remove entries that ended `safetyBuffer` before `now`. False while a job is in progress. Safe to repeat. */
  async startTidy(safetyBuffer: Seconds, now: Ms): Promise<boolean> {
    // An object without tables has nothing to remove.
    if (!this.#tables.exist) return true;
    const started = this.#start(safetyBuffer, now);
    this.#alarms.pause(DUTY, 0);
    await this.#alarms.set();
    return started;
  }

  #dueAt(): Ms | null {
    if (this.#job()) return 0;
    const settings = this.#options.pace();
    const end = this.#earliestEnd(settings);
    return end === null ? null : periodicRunAt(end, settings);
  }

  async #run(): Promise<void> {
    const settings = await this.#options.settings();
    const now = currentTime();
    const end = this.#earliestEnd(settings);
    if (end !== null && removableAt(end, settings) <= now) this.#start(settings.safetyBuffer, now);
    const done = this.#work(now);
    if (done) this.#options.report(done);
    // Entries that stay by the mount's settings are checked again on the next hour, not at once.
    if (!this.#job()) this.#alarms.pause(DUTY, PERIOD_MS - (now % PERIOD_MS));
  }

  #start(safetyBuffer: Seconds, now: Ms): boolean {
    const insert = "INSERT OR IGNORE INTO tidy_jobs (list, cutoff, removed) VALUES (?, ?, 0)";
    return this.sql.exec(insert, this.#options.list, now - safetyBuffer * 1000).rowsWritten > 0;
  }

  /** Makes a bounded number of steps of the job. Returns the report when the job has finished. */
  #work(now: Ms): TidyReport | null {
    const { list } = this.#options;
    for (let step = 0; step < ALARM_STEPS; step++) {
      const job = this.#job();
      if (!job) return null;
      const { found, removed } = this.#removeEnded(job.cutoff, now + STAYS_MS);
      if (found < STEP_ROWS) {
        this.sql.exec("DELETE FROM tidy_jobs WHERE list = ?", list);
        return { list, removed: job.removed + removed, unreadable: this.#unreadable() };
      }
      this.sql.exec("UPDATE tidy_jobs SET removed = removed + ? WHERE list = ?", removed, list);
    }
    return null;
  }

  #job(): JobRow | null {
    const query = "SELECT cutoff, removed FROM tidy_jobs WHERE list = ?";
    return this.sql.exec<JobRow>(query, this.#options.list).toArray()[0] ?? null;
  }

  /** Removes rows that ended before `cutoff`. Those that stay or are unreadable are checked again at `again`. */
  #removeEnded(cutoff: Ms, again: Ms) {
    const query = `SELECT name, value FROM ${this.table} WHERE expires_at < ? ORDER BY expires_at LIMIT ?`;
    const ended = this.sql.exec<{ name: string; value: string }>(query, cutoff, STEP_ROWS).toArray();
    const { kept = [], gone = [] } = Object.groupBy(ended, (row) => (this.#mustStay(row) ? "kept" : "gone"));
    const namesOf = (rows: typeof ended) => JSON.stringify(rows.map(({ name }) => name));
    const named = "WHERE name IN (SELECT value FROM json_each(?))";
    if (kept.length > 0) this.sql.exec(`UPDATE ${this.table} SET expires_at = ? ${named}`, again, namesOf(kept));
    if (gone.length > 0) this.sql.exec(`DELETE FROM ${this.table} ${named}`, namesOf(gone));
    return { found: ended.length, removed: gone.length };
  }

  #mustStay({ name, value }: { name: string; value: string }): boolean {
    try {
      return this.#options.stays(name, JSON.parse(value));
    } catch {
      return true;
    }
  }

  /** When the next row ends or has to be checked again; null without rows or without periodic runs. */
  #earliestEnd({ disablePeriodicTidy }: TidySettings): Ms | null {
    if (disablePeriodicTidy) return null;
    const [end] = columnOf(this.sql, `SELECT MIN(expires_at) FROM ${this.table}`);
    return typeof end === "number" ? end : null;
  }

  /** Number of rows whose end is not a number. They sort behind all numbers in the index. */
  #unreadable(): number {
    return columnOf<number>(this.sql, `SELECT COUNT(*) FROM ${this.table} WHERE expires_at >= ''`)[0] ?? 0;
  }
}

/** The first full hour at which an entry that ends at `end` may be removed. */
function periodicRunAt(end: Ms, settings: TidySettings): Ms {
  return Math.ceil(removableAt(end, settings) / PERIOD_MS) * PERIOD_MS;
}

/** An entry may be removed after its end and the safety buffer. */
function removableAt(end: Ms, { safetyBuffer }: TidySettings): Ms {
  return end + safetyBuffer * 1000 + 1;
}
