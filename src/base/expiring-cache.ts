import { GenerationalCache } from "./generational-cache.ts";

/** A bounded cache in memory. Each value has its own expiry. */
export class ExpiringCache<T> {
  readonly #entries: GenerationalCache<string, { readonly value: T; readonly expiresAt: number }>;

  /** @param limit the cache keeps at least this number of the most recently used values, and at most twice as many. */
  constructor(limit: number) {
    this.#entries = new GenerationalCache(limit);
  }

  /** The value, if it has not expired at `now` (ms). */
  get(key: string, now: number): T | undefined {
    const entry = this.#entries.get(key);
    if (!entry || entry.expiresAt > now) return entry?.value;
    this.#entries.forget(key);
    return undefined;
  }

  /** @param expiresAt ms. */
  set(key: string, value: T, expiresAt: number): void {
    this.#entries.set(key, { value, expiresAt }, 1);
  }

  /** Drops the value of `key`. */
  forget(key: string): void {
    this.#entries.forget(key);
  }
}
