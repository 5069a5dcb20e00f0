/** Random choices that come again with the same seed. None of them need be secret. */
export class Choices {
  #state = 0x811c9dc5;

  constructor(seed: string) {
    for (let i = 0; i < seed.length; i++) this.#state = Math.imul(this.#state ^ seed.charCodeAt(i), 0x01000193);
  }

  /** A whole number from 0 to below `end` (mulberry32). */
  below(end: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * end);
  }

  pick<const T extends readonly [unknown, ...unknown[]]>(items: T): T[number] {
    return items[this.below(items.length)];
  }
}
