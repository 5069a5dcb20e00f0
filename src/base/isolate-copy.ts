import { currentTime, inTime, isWithin } from "./clock.ts";
import { GenerationalCache } from "./generational-cache.ts";

/** How long (ms) a request waits for an answer that another request asked for, or that it can go on without. */
export const MAX_UPDATE_DELAY_MS = 1_000;
/** Readings that others can wait for, in one generation. */
const MAX_PENDING = 1024;
/** The share of its time after which a copy may be read again while requests go on with it. */
export const RENEWAL_SHARE = 0.8;

/** The beginning of a reading. It shows whether the answer may be older than something that was written or kept meanwhile. */
export interface Reading {
  /** ms. */
  readonly beganAt: number;
  /** Its number among readings and answers that were kept. */
  readonly step: number;
  readonly writes: number;
}

/** A copy with its age. */
export interface Copied<V> {
  readonly value: V;
  /** When the reading of it began (ms): it was true then or later. */
  readonly readAt: number;
}

interface Entry<V> extends Copied<V> {
  /** When it was kept, as a number among readings and answers that were kept. */
  readonly step: number;
}

interface Pending<V> {
  readonly reading: Reading;
  readonly answer: Promise<V | undefined>;
}

/**
 * Copies of what Durable Objects hold, so that an isolate need not ask for everything every time: a bounded number, each with
 * its age. An answer is not kept when
 *
 * - this isolate wrote while it was under way, as it may be older than the write;
 * - another answer about the same key was kept while it was under way, and says something else: which of the two is newer is
 *   not known, so neither stays.
 */
export class IsolateCopy<K, V extends NonNullable<unknown> | null> {
  readonly #entries: GenerationalCache<K, Entry<V>>;
  readonly #pending: GenerationalCache<K, Pending<V>>;
  readonly #isSame: (one: V, other: V) => boolean;
  readonly #sizeOf: (value: V) => number;
  #writes = 0;
  #steps = 0;

  /**
   * @param maxSize of the copies together, in what their sizes are given in; at most twice as much is kept.
   * @param isSame true for two values that say the same; none do unless given.
   * @param sizeOf the size of a value; 1 unless given.
   */
  constructor(
    maxSize: number,
    isSame: (one: V, other: V) => boolean = () => false,
    sizeOf: (value: V) => number = () => 1,
  ) {
    this.#entries = new GenerationalCache(maxSize);
    this.#pending = new GenerationalCache(Math.min(maxSize, MAX_PENDING));
    this.#isSame = isSame;
    this.#sizeOf = sizeOf;
  }

  /** The copy of `key`, when the reading of it began less than `maxAgeMs` ago. */
  find(key: K, maxAgeMs: number): V | undefined {
    const entry = this.#entries.get(key);
    return entry && isWithin(entry.readAt, maxAgeMs, currentTime()) ? entry.value : undefined;
  }

  /** The copy of `key` whatever its age, for callers that have a rule of their own for it. */
  copied(key: K): Copied<V> | undefined {
    return this.#entries.get(key);
  }

  /**
   * The copy of `key`, as `find`, or else what `read` brings. Requests that need the same key at once wait for one answer; when
   * it fails or is late each of them asks. The runtime drops the answer of a request that was cancelled, so that none may
   * wait for it for ever.
   *
   * @param read asks for the value; undefined for one that is not to be kept.
   * @param inBackground keeps work going after the request, when a copy shall be read again shortly before it is too old, so that
   * no request waits for it.
   */
  async load(
    key: K,
    maxAgeMs: number,
    read: () => Promise<V | undefined>,
    inBackground?: (work: Promise<unknown>) => void,
  ): Promise<V | undefined> {
    const known = this.find(key, maxAgeMs);
    const pending = this.#pending.get(key);
    if (known !== undefined) {
      const isRenewed = pending && isWithin(pending.reading.beganAt, MAX_UPDATE_DELAY_MS, currentTime());
      const isDue = inBackground && !isRenewed && this.find(key, maxAgeMs * RENEWAL_SHARE) === undefined;
      if (isDue) inBackground(this.#read(key, read).catch(() => undefined));
      return known;
    }
    if (pending && isWithin(pending.reading.beganAt, maxAgeMs, currentTime())) {
      try {
        return await inTime(pending.answer, MAX_UPDATE_DELAY_MS);
      } catch {
        // Who asked may have been cancelled: ask again.
      }
    }
    return this.#read(key, read);
  }

  /** Begins a reading by other means than `load`. Call it before the object is asked. */
  begin(): Reading {
    return { beganAt: currentTime(), step: ++this.#steps, writes: this.#writes };
  }

  /** Keeps an answer in place of an older one, unless something may be newer than it. undefined: there is nothing to keep. */
  keep(key: K, value: V | undefined, reading: Reading): void {
    if (reading.writes !== this.#writes) return;
    const meanwhile = this.#entries.get(key);
    const crossed = meanwhile && meanwhile.step > reading.step;
    if (value === undefined || (crossed && !this.#isSame(meanwhile.value, value))) this.#entries.forget(key);
    else if (!crossed) {
      const entry = { value, readAt: reading.beganAt, step: ++this.#steps };
      this.#entries.set(key, entry, this.#sizeOf(value));
    }
  }

  /** Drops the copy of `key`. Called after every write of this isolate, so that it sees its own at once. */
  forget(key: K): void {
    this.#writes++;
    this.#entries.forget(key);
    this.#pending.forget(key);
  }

  /** Drops all copies. */
  clear(): void {
    this.#writes++;
    this.#entries.clear();
    this.#pending.clear();
  }

  async #read(key: K, read: () => Promise<V | undefined>): Promise<V | undefined> {
    const reading = this.begin();
    const answer = read();
    const pending = { reading, answer };
    this.#pending.set(key, pending, 1);
    try {
      const value = await answer;
      this.keep(key, value, reading);
      return value;
    } finally {
      if (this.#pending.get(key) === pending) this.#pending.forget(key);
    }
  }
}
