/** The client that a share is counted for. null has no share of its own, for example a trusted proxy. */
export type ShareKey = string | null;

/**
 * A limited resource. Each client may use a part of what is left free: at 25 percent a client alone gets a quarter of it all, and four
 * clients at the same pace a seventh each. With fixed parts four clients could use up everything.
 */
export class Shares {
  readonly #total: number;
  readonly #percent: number;
  readonly #least: number;
  readonly #taken = new Map<string, number>();
  #sum = 0;

  /**
   * @param total amount that there is for all
   * @param percent of the total that a client alone may use; 100 is no bound
   * @param least amount that every client may use while there is so much left
   */
  constructor(total: number, percent: number, least = 1) {
    this.#total = total;
    this.#percent = percent;
    this.#least = least;
  }

  /** The sum of all shares in use. */
  get used(): number {
    return this.#sum;
  }

  /** Takes an amount, or nothing and returns false when there is not so much left. */
  take(key: ShareKey, amount: number): boolean {
    if (amount > this.#total - this.#sum || !this.isWithinShare(key, amount)) return false;
    this.#sum += amount;
    if (key !== null) this.#taken.set(key, this.#of(key) + amount);
    return true;
  }

  /** True when the client's own share allows the amount, whether there is so much left or not. */
  isWithinShare(key: ShareKey, amount: number): boolean {
    if (key === null) return true;
    const wanted = this.#of(key) + amount;
    const free = this.#total - this.#sum - amount;
    return wanted <= this.#least || wanted * (100 - this.#percent) <= free * this.#percent;
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
