/**
 * Finds the longest of many prefixes of a string. Cost: one look-up in a map for each length that prefixes have, however
 * many prefixes there are. A policy of the maximum size can have some 700 different lengths; usual ones have a dozen.
 */
export class PrefixIndex<T> {
  readonly #values: ReadonlyMap<string, T>;
  /** The longest first. */
  readonly #lengths: readonly number[];

  constructor(values: ReadonlyMap<string, T>) {
    this.#values = values;
    const lengths = new Set([...values.keys()].map((prefix) => prefix.length));
    this.#lengths = [...lengths].sort((a, b) => b - a);
  }

  longest(text: string): T | undefined {
    for (const length of this.#lengths) {
      if (length > text.length) continue;
      const found = this.#values.get(text.slice(0, length));
      if (found !== undefined) return found;
    }
    return undefined;
  }
}
