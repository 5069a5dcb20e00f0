/** Random choices that come again with the same seed. None of them need be secret. */
export class Choices {
  #state = 0x811c9dc5;

  constructor(seed: string) {
    for (let i = 0; i < seed.length; i++) this.#state = Math.imul(this.#state ^ seed.charCodeAt(i), 0x01000193);
  }

  /** From 0 to below 1 (mulberry32). */
  share(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number from 0 to below `end`. */
  below(end: number): number {
    return Math.floor(this.share() * end);
  }

  chance(probability: number): boolean {
    return this.share() < probability;
  }

  pick<const T extends readonly [unknown, ...unknown[]]>(items: T): T[number] {
    return items[this.below(items.length)];
  }

  /** Each of `items` with the probability. */
  some<T>(items: readonly T[], probability = 0.5): T[] {
    return items.filter(() => this.chance(probability));
  }
}
