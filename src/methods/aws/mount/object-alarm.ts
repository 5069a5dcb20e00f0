/** The alarm of an object, and when it is set for: an object is asked often whether something is due, and seldom something is. */
export class ObjectAlarm {
  readonly #storage: DurableObjectStorage;
  /** ms; null when it is not set. */
  #at: number | null = null;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
  }

  /** Reads when the alarm is set for. An alarm can be lost to a restore or to a fault of the platform: arm it anew after this. */
  async load(): Promise<void> {
    this.#at = await this.#storage.getAlarm();
  }

  /** Notes that the alarm went off. */
  wentOff(): void {
    this.#at = null;
  }

  /** Sets the alarm for `due` (ms) unless it is set for an earlier time. */
  arm(due: number): void {
    if (this.#at !== null && this.#at <= due) return;
    this.#at = due;
    this.#storage.setAlarm(due);
  }

  /** Takes the alarm back. */
  async disarm(): Promise<void> {
    this.#at = null;
    await this.#storage.deleteAlarm();
  }
}
