import { currentTime } from "../base/clock.ts";
import { err, ok, type Result } from "../base/result.ts";

/** The platform takes no alarm after 2189, and a token may outlive that. */
const LATEST_ALARM_MS = Date.UTC(2189, 0, 1);
/** An alarm that should have come this long ago (ms) was lost, to a restore or to a fault of the platform. */
const LOST_ALARM_MS = 600_000;
/** Pause before the next try where nothing can be read now, for example while the service is sealed. */
const CLOSED_RETRY_MS = 30_000;

const NEVER = Number.POSITIVE_INFINITY;

/** The part of an object's storage that its alarm needs. */
type AlarmStorage = Pick<DurableObjectStorage, "getAlarm" | "setAlarm" | "deleteAlarm">;

/** Work that an object does by itself. */
export interface Duty {
  /** When it is due (ms); null: not at all. Follows from what is stored, so a restart forgets none. */
  dueAt(): number | null;
  run(): unknown;
  /** Pause before the next try (ms) after so many failures in a row. */
  pauseMs(failures: number): number;
}

/** A duty, and how its last tries went. */
interface Tried {
  readonly duty: Duty;
  /** In a row. */
  failures: number;
  /** The alarm is not set for it before (ms). */
  pausedUntil: number;
}

/**
 * The one alarm of an object: set for the earliest of its duties. A duty that fails is logged under its name, keeps no other
 * waiting, and is tried again for as long as it is due: the platform gives up after some retries of its own.
 */
export class ObjectAlarm {
  readonly #storage: AlarmStorage;
  readonly #open: () => Promise<void>;
  readonly #duties = new Map<string, Tried>();
  /** What the alarm is set for (ms); null: it is not set; undefined: not known. */
  #setFor: number | null | undefined;

  /** @param open gets the keys for what due times are read from. */
  constructor(storage: AlarmStorage, open: () => Promise<void>) {
    this.#storage = storage;
    this.#open = open;
  }

  /** Adds a duty. */
  add(name: string, duty: Duty): void {
    this.#duties.set(name, { duty, failures: 0, pausedUntil: 0 });
  }

  /**
   * Pauses a duty: the alarm is not set for it within the next `ms`. A step of long work calls it before it returns, so that
   * requests come in between. With 0, for new work, it ends the pause after a failure. `set` follows, or the end of `run`.
   */
  pause(name: string, ms: number): void {
    this.#find(name).pausedUntil = currentTime() + ms;
  }

  /** Sets the alarm, or takes it back. To be called after each change of what due times follow from. */
  async set(): Promise<void> {
    const due = Math.min(...[...this.#duties.values()].map(nextTry));
    const at = due === NEVER ? null : Math.min(Math.max(due, currentTime()), LATEST_ALARM_MS);
    if (at !== this.#setFor) await this.#setTo(at);
  }

  /**
   * Sets the alarm for `due` (ms), unless it is set for an earlier time. For a change that makes nothing due before, of an object
   * that restores its alarm: it reads nothing.
   */
  async atLatest(due: number): Promise<void> {
    if (due < (this.#setFor ?? NEVER)) await this.#setTo(Math.min(due, LATEST_ALARM_MS));
  }

  /** The whole storage is being deleted, and the alarm with it. */
  forget(): void {
    this.#setFor = null;
  }

  /** Sets an alarm that was lost to a restore, or to a fault of the platform. For the start of the object. */
  async restore(): Promise<void> {
    this.#setFor = (await pendingAlarm(this.#storage, currentTime())) ?? undefined;
    if (this.#setFor === undefined && (await this.#opened())) await this.set();
  }

  /** Does what is due. */
  async run(): Promise<void> {
    this.#setFor = null;
    if (!(await this.#opened())) return;
    for (const [name, tried] of this.#duties) {
      if ((tried.duty.dueAt() ?? NEVER) > currentTime()) continue;
      tried.pausedUntil = 0;
      await this.#try(name, tried, async () => tried.duty.run());
    }
    await this.set();
  }

  /**
   * Does a duty at once, whether it is due or not. The alarm is set before, so that a crash meanwhile only delays it.
   *
   * @param run does it for a caller who needs an answer.
   * @returns "failed" when the alarm will try it again.
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

  async #setTo(at: number | null): Promise<void> {
    this.#setFor = at;
    await (at === null ? this.#storage.deleteAlarm() : this.#storage.setAlarm(at));
  }

  /** Gets the keys. Without them the alarm comes again later. */
  async #opened(): Promise<boolean> {
    try {
      await this.#open();
      return true;
    } catch (error) {
      console.error(JSON.stringify({ type: "alarm", error: String(error) }));
      await this.#setTo(currentTime() + CLOSED_RETRY_MS);
      return false;
    }
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

function nextTry({ duty, pausedUntil }: Tried): number {
  return Math.max(duty.dueAt() ?? NEVER, pausedUntil);
}

/** True for an alarm that should have come long ago, and will not come any more. Both in ms. */
function isLost(alarm: number | null, now: number): boolean {
  return alarm !== null && alarm < now - LOST_ALARM_MS;
}

/** When the alarm of an object comes (ms); null when none is set, or when it was lost and has to be set again. `now` in ms. */
export async function pendingAlarm(storage: Pick<AlarmStorage, "getAlarm">, now: number): Promise<number | null> {
  const alarm = await storage.getAlarm();
  return isLost(alarm, now) ? null : alarm;
}

/**
 * The one alarm of an object that changes with nearly every call. Moving the alarm later would only cost a row, so it is never moved
 * later: it may ring before anything is due.
 */
export class EarliestAlarm {
  readonly #storage: Pick<AlarmStorage, "getAlarm" | "setAlarm">;
  /** When the alarm is set for (ms), or null. */
  #at: number | null = null;

  constructor(storage: Pick<AlarmStorage, "getAlarm" | "setAlarm">) {
    this.#storage = storage;
  }

  /** Reads when the alarm is set for. Returns true when it should have rung before, and was lost: then it counts as not set. */
  async load(): Promise<boolean> {
    const at = await this.#storage.getAlarm();
    this.#at = isLost(at, currentTime()) ? null : at;
    return this.#at !== at;
  }

  /** The alarm rang. */
  rang(): void {
    this.#at = null;
  }

  /** The whole storage is being deleted, and the alarm with it. */
  forget(): void {
    this.#at = null;
  }

  /**
   * Sets the alarm for what is due first, unless it is set for an earlier time. Each setting is a row written, so it takes all
   * times at once.
   *
   * @param dues ms; null: not due.
   */
  async atLatest(...dues: readonly (number | null)[]): Promise<void> {
    const times = dues.filter((due) => due !== null);
    if (times.length === 0) return;
    const at = Math.min(...times, LATEST_ALARM_MS);
    if (this.#at === null || at < this.#at) await this.set(at);
  }

  /** Sets the alarm for `at` (ms). */
  set(at: number): Promise<void> {
    this.#at = at;
    return this.#storage.setAlarm(at);
  }
}
