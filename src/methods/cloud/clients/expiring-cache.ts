/** Values that an isolate keeps for a while. When it is full, the one that was used longest ago goes. */
export class ExpiringCache<T> {
  readonly #limit: number;
  readonly #entries = new Map<string, { readonly value: T; readonly expiresAt: number }>();

  /** @param limit most values. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** The value, if it has not ended at `now` (ms). */
  get(key: string, now: number): T | undefined {
    const entry = this.#entries.get(key);
    if (!entry) return undefined;
    this.#entries.delete(key);
    if (entry.expiresAt <= now) return undefined;
    this.#entries.set(key, entry);
    return entry.value;
  }

  /** @param expiresAt ms. */
  set(key: string, value: T, expiresAt: number): void {
    this.#entries.delete(key);
    const [oldest] = this.#entries.keys();
    if (this.#entries.size >= this.#limit && oldest !== undefined) this.#entries.delete(oldest);
    this.#entries.set(key, { value, expiresAt });
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }
}
