/**
 * What was found out about things that come again soon, such as the tokens of busy clients. Only for what can't change: an
 * entry stays as long as it is asked for. Two generations: when the young one is full the old one goes, and what is asked
 * for returns to the young one. What is in here may be secret; it goes to no log.
 */
export class Recent<K, V> {
  readonly #maxSize: number;
  #young = new Map<K, Entry<V>>();
  #old = new Map<K, Entry<V>>();
  #size = 0;

  /** @param maxSize of all entries of one generation, in what their sizes are given in. */
  constructor(maxSize: number) {
    this.#maxSize = maxSize;
  }

  /** What is known, if anything. */
  get(key: K): V | undefined {
    const young = this.#young.get(key);
    if (young) return young.value;
    const old = this.#old.get(key);
    if (old) this.#keep(key, old);
    return old?.value;
  }

  /** Keeps what was found out about a key. */
  set(key: K, value: V, size: number): void {
    this.forget(key);
    this.#keep(key, { value, size });
  }

  /** Keeps nothing about a key. */
  forget(key: K): void {
    this.#size -= this.#young.get(key)?.size ?? 0;
    this.#young.delete(key);
    this.#old.delete(key);
  }

  #keep(key: K, entry: Entry<V>): void {
    if (this.#size + entry.size > this.#maxSize) {
      this.#old = this.#young;
      this.#young = new Map();
      this.#size = 0;
    }
    this.#young.set(key, entry);
    this.#size += entry.size;
  }
}

interface Entry<V> {
  readonly value: V;
  readonly size: number;
}
