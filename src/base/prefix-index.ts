interface Entry<T> {
  readonly prefix: string;
  readonly value: T;
  /** The entry with the longest other prefix that this one begins with. */
  readonly parent: Entry<T> | null;
}

/**
 * Finds the longest of many prefixes of a string. The prefixes are sorted. Everything between a prefix of the string
 * and the string itself, in that order, begins with the prefix too; so the answer is the greatest entry that is not
 * after the string, or one of its parents. Cost: a binary search and one comparison, however many prefixes there are.
 */
export class PrefixIndex<T> {
  readonly #entries: Entry<T>[] = [];

  constructor(values: ReadonlyMap<string, T>) {
    const sorted = [...values].sort(([a], [b]) => (a < b ? -1 : 1));
    for (const [prefix, value] of sorted) {
      let parent = this.#entries.at(-1) ?? null;
      while (parent && !prefix.startsWith(parent.prefix)) parent = parent.parent;
      this.#entries.push({ prefix, value, parent });
    }
  }

  longest(text: string): T | undefined {
    let entry = this.#greatestNotAfter(text);
    if (!entry) return undefined;
    const shared = sharedLength(entry.prefix, text);
    while (entry && entry.prefix.length > shared) entry = entry.parent;
    return entry?.value;
  }

  #greatestNotAfter(text: string): Entry<T> | null {
    let low = 0;
    let high = this.#entries.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const entry = this.#entries[middle];
      if (entry && entry.prefix <= text) low = middle + 1;
      else high = middle;
    }
    return this.#entries[low - 1] ?? null;
  }
}

function sharedLength(a: string, b: string): number {
  const end = Math.min(a.length, b.length);
  let at = 0;
  while (at < end && a.charCodeAt(at) === b.charCodeAt(at)) at++;
  return at;
}
