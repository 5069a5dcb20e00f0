import type { Ms } from "./clock.ts";

/**
 * A cache in memory, bounded by the size of its entries. It has two generations: when the newer one is full, the older
 * one is dropped, and an entry that is read moves to the newer one. There is no expiry: the cache is for values that
 * never change, such as the fixed fields of a token, or whose age the reader checks. Entries may be secret and are
 * never logged.
 */
export class GenerationalCache<K, V> {
  readonly #maxSize: number;
  #newer = new Map<K, Entry<V>>();
  #older = new Map<K, Entry<V>>();
  #size = 0;

  /** @param maxSize maximum size of all entries of one generation, in the unit of `set`. */
  constructor(maxSize: number) {
    this.#maxSize = maxSize;
  }

  get(key: K): V | undefined {
    const newer = this.#newer.get(key);
    if (newer) return newer.value;
    const older = this.#older.get(key);
    if (older) this.#keep(key, older);
    return older?.value;
  }

  /** Stores the value of `key`, replacing a previous one. `size` in the unit of `maxSize`. */
  set(key: K, value: V, size: number): void {
    this.forget(key);
    this.#keep(key, { value, size });
  }

  forget(key: K): void {
    this.#size -= this.#newer.get(key)?.size ?? 0;
    this.#newer.delete(key);
    this.#older.delete(key);
  }

  clear(): void {
    this.#newer = new Map();
    this.#older = new Map();
    this.#size = 0;
  }

  #keep(key: K, entry: Entry<V>): void {
    if (this.#size + entry.size > this.#maxSize) {
      this.#older = this.#newer;
      this.#newer = new Map();
      this.#size = 0;
    }
    this.#newer.set(key, entry);
    this.#size += entry.size;
  }
}

interface Entry<V> {
  readonly value: V;
  readonly size: number;
}

/** A bounded cache in memory. Each value has its own expiry. */
export class ExpiringCache<T> {
  readonly #entries: GenerationalCache<string, { readonly value: T; readonly expiresAt: Ms }>;

  /** @param limit the cache keeps at least this number of the most recently used values, and at most twice as many. */
  constructor(limit: number) {
    this.#entries = new GenerationalCache(limit);
  }

  /** The value, if it has not expired at `now`. */
  get(key: string, now: Ms): T | undefined {
    const entry = this.#entries.get(key);
    if (!entry || entry.expiresAt > now) return entry?.value;
    this.#entries.forget(key);
    return undefined;
  }

  set(key: string, value: T, expiresAt: Ms): void {
    this.#entries.set(key, { value, expiresAt }, 1);
  }

  forget(key: string): void {
    this.#entries.forget(key);
  }
}
