import { currentTime } from "../base/clock.ts";
import { isLostAlarm } from "./pending-alarm.ts";

/** The platform takes no alarm after 2189, and a token may outlive that. */
const LATEST_ALARM_MS = Date.UTC(2189, 0, 1);

/** The part of an object's storage that its alarm needs. */
type AlarmStorage = Pick<DurableObjectStorage, "getAlarm" | "setAlarm">;

/**
 * The one alarm of an object that changes with nearly every call. Moving the alarm later would only cost a row, so it is never moved
 * later: it may ring before anything is due.
 */
export class EarliestAlarm {
  readonly #storage: AlarmStorage;
  /** When the alarm is set for (ms), or null. */
  #at: number | null = null;

  constructor(storage: AlarmStorage) {
    this.#storage = storage;
  }

  /** Reads when the alarm is set for. Returns true when it should have rung before, and was lost: then it counts as not set. */
  async load(): Promise<boolean> {
    const at = await this.#storage.getAlarm();
    const isLost = isLostAlarm(at, currentTime());
    this.#at = isLost ? null : at;
    return isLost;
  }

  /** The alarm rang. */
  rang(): void {
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
