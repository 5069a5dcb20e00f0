import { currentTime, type Ms } from "../base/clock.ts";
import { err, ok, type Result } from "../base/result.ts";

/** The latest alarm. The platform accepts no later one, and a token may expire after it. */
const LATEST_ALARM_MS = Date.UTC(2189, 0, 1);
/**
 * An alarm that is overdue by this time was lost in a restore or by a fault of the platform, or waits for a retry of the
 * platform, which may come in 17 minutes or never.
 */
const LOST_ALARM_MS = 60_000;
/** Delay of the next alarm while rows can't be read, for example while the service is sealed. */
const CLOSED_RETRY_MS = 30_000;

const NEVER = Number.POSITIVE_INFINITY;

type AlarmStorage = Pick<DurableObjectStorage, "getAlarm" | "setAlarm" | "deleteAlarm" | "sync">;

/**
 * The alarm of an object and the time for which it is set. For an object whose due times change with nearly every call,
 * `atLatest` never moves it later, because each move writes a row. So it may ring before anything is due.
 */
export class EarliestAlarm {
  readonly #storage: AlarmStorage;
  /** When the alarm is set for; null: it is not set; undefined: unknown. */
  #at: Ms | null | undefined;
  /** When it was set in this life of the object: one that was set for a time in the past is not lost yet. */
  #setAt: Ms = 0;
  /** Sets the alarm in the place of a lost one, for the time that `#at` has in the end. */
  #renewal: Promise<void> | null = null;

  constructor(storage: AlarmStorage) {
    this.#storage = storage;
  }

  /** Reads the time of the alarm. Returns true for an alarm that was lost: it counts as not set. */
  async load(): Promise<boolean> {
    const before = this.#at;
    const at = await this.#storage.getAlarm();
    // It may have been set meanwhile.
    if (this.#at !== before) return this.isLost;
    if (at !== before) this.#setAt = 0;
    this.#at = at;
    return this.isLost;
  }

  /** True from the start of the object until the time of the alarm is read or set. */
  get isUnknown(): boolean {
    return this.#at === undefined;
  }

  /** True for an alarm that is overdue and may not ring any more. */
  get isLost(): boolean {
    return Math.max(this.#at ?? NEVER, this.#setAt) < currentTime() - LOST_ALARM_MS;
  }

  /** When it is set for; null when it is not set, was lost, or is not known to be set. */
  get setFor(): Ms | null {
    return this.isLost ? null : (this.#at ?? null);
  }

  /** Notes that the alarm rang, or that the storage of the object is deleted with its alarm. */
  clear(): void {
    this.#at = null;
  }

  /**
   * Sets the alarm for the earliest of some times (null: not due), unless it is set for an earlier one. Takes all
   * times at once, because each setting writes a row.
   */
  async atLatest(...dues: readonly (number | null)[]): Promise<void> {
    const due = Math.min(...dues.map((time) => time ?? NEVER));
    if (due < (this.setFor ?? NEVER)) await this.set(due);
  }

  /** Sets the alarm for `at`, or deletes it (null). */
  async set(at: Ms | null): Promise<void> {
    const time = at === null ? null : Math.min(at, LATEST_ALARM_MS);
    const { isLost } = this;
    const before = this.#at;
    if (time === before && !isLost) return;
    this.#at = time;
    this.#setAt = currentTime();
    if (isLost) this.#renewal ??= this.#renew();
    try {
      await (this.#renewal ?? this.#write());
    } catch (error) {
      this.#at = isLost ? before : undefined;
      this.#setAt = 0;
      throw error;
    }
  }

  /**
   * Deletes the lost alarm before another is set. While an alarm waits for a retry of the platform, workerd keeps one
   * that is set until that retry is over, and there is none after a fault of its own database (docs/decisions/0023).
   */
  async #renew(): Promise<void> {
    try {
      await this.#storage.deleteAlarm();
      // Two changes in one commit would be only the second one.
      await this.#storage.sync();
    } finally {
      this.#renewal = null;
    }
    if (this.#at !== null) await this.#write();
  }

  async #write(): Promise<void> {
    const at = this.#at ?? null;
    await (at === null ? this.#storage.deleteAlarm() : this.#storage.setAlarm(at));
  }
}

/** Background work of an object. */
export interface Duty {
  /** When it is due; null: never. Computed from what is stored, so that it survives a restart. */
  dueAt(): Ms | null;
  run(): unknown;
  /** Pause before the next try after this number of failures in a row. */
  pauseMs(failures: number): Ms;
}

/** Work in steps. Each stores where the run is, so the run goes on after a restart, and every step may be repeated. */
export interface Job<Run> {
  /** The run in progress, as it is stored; null without one. */
  running(): Run | null;
  step(run: Run): Promise<void>;
  /** Pause after a step that took `tookMs`, in which requests are served. */
  pauseMs(tookMs: Ms): Ms;
  /** Pause before a failed step is repeated, after this number of failures in a row. */
  retryMs(failures: number): Ms;
}

/** A duty with the results of its last tries. */
interface Tried {
  readonly duty: Duty;
  failures: number;
  /** The alarm is not set for it before this time. */
  pausedUntil: Ms;
}

/**
 * The alarm of an object, set for the earliest of its duties. A failed duty is logged under its name and does not delay
 * the others. It is tried again as long as it is due, because the platform stops after a few retries.
 */
export class ObjectAlarm {
  readonly #alarm: EarliestAlarm;
  readonly #open: () => Promise<boolean>;
  readonly #duties = new Map<string, Tried>();
  #isRunning = false;

  /** @param open opens the keys of the rows that due times are read from; false: not now, which is no failure. */
  constructor(storage: AlarmStorage, open: () => Promise<boolean>) {
    this.#alarm = new EarliestAlarm(storage);
    this.#open = open;
  }

  add(name: string, duty: Duty): void {
    this.#duties.set(name, { duty, failures: 0, pausedUntil: 0 });
  }

  /** Adds a job as a duty. Only the alarm performs its steps, so two never overlap. */
  addJob<Run>(name: string, { running, step, pauseMs, retryMs }: Job<Run>): void {
    const run = async () => {
      const current = running();
      if (!current) return;
      const began = currentTime();
      await step(current);
      this.pause(name, pauseMs(currentTime() - began));
    };
    this.add(name, { dueAt: () => (running() ? 0 : null), run, pauseMs: retryMs });
  }

  /**
   * Pauses a duty: the alarm is not set for it within the next `ms`. Each step of long work pauses, so that requests
   * are served between steps. 0 ends the pause after a failure, for new work. Takes effect at `set` or at the end of
   * `run`.
   */
  pause(name: string, ms: Ms): void {
    this.#find(name).pausedUntil = currentTime() + ms;
  }

  /** Sets or deletes the alarm. Called after each change of a due time. */
  async set(): Promise<void> {
    const tries = [...this.#duties.values()].map(({ duty, pausedUntil }) =>
      Math.max(duty.dueAt() ?? NEVER, pausedUntil),
    );
    const due = Math.min(...tries);
    // A lost alarm has to be known before another is set.
    if (this.#alarm.isUnknown) await this.#alarm.load();
    await this.#alarm.set(due === NEVER ? null : Math.max(due, currentTime()));
  }

  /**
   * Sets the alarm for `due`, unless it is set for an earlier time. Reads no due times. For a change after which
   * nothing is due before `due`, in an object that calls `restore` at its start.
   */
  async atLatest(due: Ms): Promise<void> {
    await this.#alarm.atLatest(due);
  }

  /** Notes that the storage of the object is deleted, with its alarm. */
  forget(): void {
    this.#alarm.clear();
  }

  /** Sets the alarm again if it was lost. Called at the start of the object. */
  async restore(): Promise<void> {
    if (this.#isRunning) return;
    await this.#alarm.load();
    if (this.#alarm.setFor === null && (await this.#opened())) await this.set();
  }

  /**
   * Sets an alarm again that was lost, also before the start of an object that does not call `restore`. Called with the
   * calls of the object. Reads no storage but the time of the alarm, once. A failure is logged: the next call tries again.
   */
  async renewLost(): Promise<void> {
    try {
      if (this.#duties.size > 0 && this.#alarm.isUnknown) await this.#alarm.load();
      if (this.#alarm.isLost) await this.restore();
    } catch (error) {
      logFailure(error);
    }
  }

  async run(): Promise<void> {
    this.#alarm.clear();
    this.#isRunning = true;
    try {
      await this.#runDuties();
    } finally {
      this.#isRunning = false;
    }
  }

  async #runDuties(): Promise<void> {
    if (!(await this.#opened())) return;
    for (const [name, tried] of this.#duties) {
      if ((tried.duty.dueAt() ?? NEVER) > currentTime()) continue;
      tried.pausedUntil = 0;
      await this.#try(name, tried, async () => tried.duty.run());
    }
    await this.set();
  }

  /**
   * Runs a duty now, whether it is due or not, and returns its answer; after "failed" the alarm will try it again. The
   * alarm is set first, so that a crash only delays the duty.
   */
  async attempt<T>(name: string, run: () => Promise<T>): Promise<Result<T, "failed">> {
    const tried = this.#find(name);
    tried.pausedUntil = currentTime() + tried.duty.pauseMs(tried.failures);
    await this.set();
    const done = await this.#try(name, tried, run);
    if (done.ok) tried.pausedUntil = 0;
    await this.set();
    return done;
  }

  /** Opens the keys. Sets another alarm when they can't be. */
  async #opened(): Promise<boolean> {
    const isOpen = await this.#open().catch((error: unknown) => {
      logFailure(error);
      return false;
    });
    if (!isOpen) await this.#alarm.set(currentTime() + CLOSED_RETRY_MS);
    return isOpen;
  }

  #find(name: string): Tried {
    const tried = this.#duties.get(name);
    if (!tried) throw new Error(`there is no duty ${name}`);
    return tried;
  }

  async #try<T>(name: string, tried: Tried, run: () => Promise<T>): Promise<Result<T, "failed">> {
    try {
      const value = await run();
      tried.failures = 0;
      return ok(value);
    } catch (error) {
      console.error(JSON.stringify({ type: name, error: String(error) }));
      tried.failures++;
      tried.pausedUntil = currentTime() + tried.duty.pauseMs(tried.failures);
      return err("failed");
    }
  }
}

function logFailure(error: unknown): void {
  console.error(JSON.stringify({ type: "alarm", error: String(error) }));
}
