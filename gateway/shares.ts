/** The client that a share is counted for. null has no share of its own, for example a trusted proxy. */
export type ShareKey = string | null;

/** A limited resource, of which no single client may take more than its share. */
export class Shares {
  readonly #total: number;
  readonly #each: number;
  readonly #taken = new Map<string, number>();
  #sum = 0;

  /**
   * @param total amount that there is for all
   * @param each most that one key may take of it
   */
  constructor(total: number, each: number) {
    this.#total = total;
    this.#each = each;
  }

  /** The sum of all shares in use. */
  get used(): number {
    return this.#sum;
  }

  /** Takes an amount, or nothing and returns false when there is not so much left. */
  take(key: ShareKey, amount: number): boolean {
    if (amount > this.#total - this.#sum || !this.hasShareLeft(key, amount)) return false;
    this.#sum += amount;
    if (key !== null) this.#taken.set(key, this.#of(key) + amount);
    return true;
  }

  /** True when the key's own share would allow the amount: then it is the total that is used up. */
  hasShareLeft(key: ShareKey, amount: number): boolean {
    return key === null || this.#of(key) + amount <= this.#each;
  }

  /** Gives back an amount that was taken under the same key. */
  giveBack(key: ShareKey, amount: number): void {
    this.#sum -= amount;
    if (key === null) return;
    const left = this.#of(key) - amount;
    // Without the deletion the map would remember every address that ever called.
    if (left > 0) this.#taken.set(key, left);
    else this.#taken.delete(key);
  }

  #of(key: string): number {
    return this.#taken.get(key) ?? 0;
  }
}
