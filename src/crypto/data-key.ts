import { GenerationalCache } from "../base/generational-cache.ts";

/** Days in one generation of the cache of a data key; more than those whose values a busy isolate reads. */
const MAX_DAYS = 256;

/**
 * One version of the data key. It encrypts nothing itself: every day has a key of its own, derived from it. With random
 * nonces of 96 bits a key of AES-GCM is good for about 2^32 values, which a day does not reach but a year may.
 */
export class DataKey {
  readonly #root: CryptoKey;
  readonly #days = new GenerationalCache<number, CryptoKey>(MAX_DAYS);
  #encryptions = 0;

  /** @param root an HMAC-SHA-256 key. */
  constructor(root: CryptoKey) {
    this.#root = root;
  }

  /**
   * The AES-256-GCM key of a day.
   *
   * @param day days since 1970, 0 to 65,535.
   */
  async ofDay(day: number): Promise<CryptoKey> {
    return this.#days.get(day) ?? this.#derive(day);
  }

  /** Keeps the key of a day at hand. Only for days that values were really sealed on: a forged value names any. */
  keep(day: number, key: CryptoKey): void {
    if (!this.#days.get(day)) this.#days.set(day, key, 1);
  }

  /** Counts an encryption. */
  noteEncryption(): void {
    this.#encryptions++;
  }

  /** Encryptions since the last call. */
  takeEncryptions(): number {
    const count = this.#encryptions;
    this.#encryptions = 0;
    return count;
  }

  async #derive(day: number): Promise<CryptoKey> {
    const label = new TextEncoder().encode(`grove data key of day ${day}`);
    const bytes = await crypto.subtle.sign("HMAC", this.#root, label);
    return crypto.subtle.importKey("raw", bytes, "AES-GCM", false, ["encrypt", "decrypt"]);
  }
}
