import { currentTime, isWithin, type Ms } from "./clock.ts";

interface Shared<T> {
  readonly value: T;
  /** When the read began: the value was current then or later. */
  readonly readAt: Ms;
}

/**
 * The answer of a read that calls many objects. It is read again when it is too old, by one request at a time: other
 * requests get the previous answer meanwhile, so that many requests do not cause many reads.
 */
export class SingleFlight<T> {
  readonly #maxAgeMs: Ms;
  readonly #maxReadMs: Ms;
  #last: Shared<T> | null = null;
  #readingSince = Number.NEGATIVE_INFINITY;
  /** Number of reads so far, and which of them gave the last answer. */
  #reads = 0;
  #lastNumber = 0;

  /**
   * @param maxReadMs after this time another request reads: the runtime may have ended the first one with its client.
   */
  constructor(maxAgeMs: Ms, maxReadMs: Ms) {
    this.#maxAgeMs = maxAgeMs;
    this.#maxReadMs = maxReadMs;
  }

  /** The last answer, of any age, and when its read began; null before the first. */
  get last(): Shared<T> | null {
    return this.#last;
  }

  /** Returns the last answer, or reads it again with `read`. */
  async load(read: () => Promise<T>): Promise<Shared<T>> {
    const now = currentTime();
    const isBeingRead = isWithin(this.#readingSince, this.#maxReadMs, now);
    if (this.#last && (isBeingRead || isWithin(this.#last.readAt, this.#maxAgeMs, now))) return this.#last;
    this.#readingSince = now;
    const number = ++this.#reads;
    try {
      const answer = { value: await read(), readAt: now };
      // A read that took longer than `maxReadMs` does not replace what a later one has read.
      if (number > this.#lastNumber) {
        this.#last = answer;
        this.#lastNumber = number;
      }
      return answer;
    } finally {
      if (number === this.#reads) this.#readingSince = Number.NEGATIVE_INFINITY;
    }
  }
}
