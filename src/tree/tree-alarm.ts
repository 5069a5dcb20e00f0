import { currentTime } from "../base/clock.ts";
import { isLostAlarm, pendingAlarm } from "../storage/pending-alarm.ts";

/** The platform takes no alarm after 2189, and a token may outlive that. */
const LATEST_ALARM_MS = Date.UTC(2189, 0, 1);

/** The part of the tree's storage that its alarm needs. */
type AlarmStorage = Pick<DurableObjectStorage, "getAlarm" | "setAlarm">;

/** The one alarm of a tree. Moving it later would only cost a write, so it is never moved later. */
export class TreeAlarm {
  readonly #storage: AlarmStorage;
  /** When the alarm is set for (ms), or null. */
  #at: number | null = null;

  constructor(storage: AlarmStorage) {
    this.#storage = storage;
  }

  /** Reads when the alarm is set for. Returns true when it should have gone off before, and was lost. */
  async load(): Promise<boolean> {
    const at = await this.#storage.getAlarm();
    const isLost = isLostAlarm(at, currentTime());
    this.#at = isLost ? null : at;
    return isLost;
  }

  /** Reads it again: one that was lost counts as not set. */
  async reload(): Promise<void> {
    this.#at = await pendingAlarm(this.#storage, currentTime());
  }

  /** The alarm went off. */
  wentOff(): void {
    this.#at = null;
  }

  /**
   * Sets the alarm for what is due first, unless it is set for an earlier time. Each setting is a row written, so it takes all
   * times at once.
   *
   * @param dues ms; null: not due.
   */
  atLatest(...dues: readonly (number | null)[]): void {
    const times = dues.filter((due) => due !== null);
    if (times.length === 0) return;
    const at = Math.min(...times, LATEST_ALARM_MS);
    if (this.#at === null || at < this.#at) void this.set(at);
  }

  /** Sets the alarm for `at` (ms). */
  set(at: number): Promise<void> {
    this.#at = at;
    return this.#storage.setAlarm(at);
  }
}
