import { currentTime, inTime, isWithin } from "./clock.ts";
import { GenerationalCache } from "./generational-cache.ts";

/** Maximum time (ms) that a request waits for the read of another request, or for an answer that it can do without. */
export const MAX_UPDATE_DELAY_MS = 1_000;
/** Maximum number of pending reads that others can wait for, in one generation of the cache. */
const MAX_PENDING = 1024;
/** Fraction of the maximum age of a copy after which it is read again in the background. */
export const RENEWAL_SHARE = 0.8;

/** The start of a read. `keep` compares it with later writes and answers, which may be newer than this read's. */
export interface Reading {
  /** ms. */
  readonly beganAt: number;
  /** Sequence number, common to reads and to answers that were kept. */
  readonly step: number;
  /** Number of writes of this isolate until then. */
  readonly writes: number;
}

interface Copied<V> {
  readonly value: V;
  /** When the read began (ms): the value was current then or later. */
  readonly readAt: number;
}

/**
 * A bounded cache of data of Durable Objects, so that an isolate or another object does not call them for each request.
 * Each copy has its age. An answer is not kept when
 *
 * - this isolate wrote while the read was in flight: the answer may be older than the write;
 * - another answer for the same key was kept while the read was in flight, and its value differs: which of the two is
 *   newer is unknown, so neither is kept.
 */
export class IsolateCopy<K, V extends NonNullable<unknown> | null> {
  /** `step`: when it was kept, as in `Reading`. */
  readonly #entries: GenerationalCache<K, Copied<V> & Pick<Reading, "step">>;
  readonly #pending: GenerationalCache<K, { readonly reading: Reading; readonly answer: Promise<V | undefined> }>;
  readonly #isSame: (one: V, other: V) => boolean;
  readonly #sizeOf: (value: V) => number;
  #writes = 0;
  #steps = 0;

  /**
   * @param maxSize maximum size of a generation of copies, in the unit of `sizeOf`; at most twice as much is kept.
   * @param isSame true for two equal values; by default no two values are equal.
   * @param sizeOf size of a value; 1 by default.
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

  /** The copy of `key`, if its read began less than `maxAgeMs` ago. */
  find(key: K, maxAgeMs: number): V | undefined {
    const entry = this.#entries.get(key);
    return entry && isWithin(entry.readAt, maxAgeMs, currentTime()) ? entry.value : undefined;
  }

  /** The copy of `key` at any age, for callers that have their own rule for its age. */
  copied(key: K): Copied<V> | undefined {
    return this.#entries.get(key);
  }

  /**
   * Returns the copy of `key`, as `find`, or else the result of `read`. Concurrent requests for the same key wait for
   * one read. When it fails or takes longer than `MAX_UPDATE_DELAY_MS`, each of them reads by itself: the runtime drops
   * the answer of a cancelled request, and waiting for it would never end.
   *
   * @param read reads the value; undefined: there is none to keep.
   * @param inBackground continues work after the request. If given, a copy is read again shortly before it is too old,
   *   so that no request waits for the read.
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
        // The request that began the read may have been cancelled: read again.
      }
    }
    return this.#read(key, read);
  }

  /** Begins a read without `load`, whose answer goes to `keep`. Call it before the call to the object. */
  begin(): Reading {
    return { beganAt: currentTime(), step: ++this.#steps, writes: this.#writes };
  }

  /** Stores the answer of a read, unless another write or answer may be newer. `undefined` drops the copy. */
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

  /** Drops the copy of `key`. Called after every write of this isolate, so that it sees its own writes at once. */
  forget(key: K): void {
    this.#writes++;
    this.#entries.forget(key);
    this.#pending.forget(key);
  }

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

/**
 * The answer of a read that calls many objects. It is read again when it is too old, by one request at a time: other
 * requests get the previous answer meanwhile, so that many requests do not cause many reads.
 */
export class SharedReading<T> {
  readonly #maxAgeMs: number;
  readonly #maxReadMs: number;
  #last: Copied<T> | null = null;
  #readingSince = Number.NEGATIVE_INFINITY;

  /**
   * @param maxReadMs after this time another request reads: the runtime may have ended the first one with its client.
   */
  constructor(maxAgeMs: number, maxReadMs: number) {
    this.#maxAgeMs = maxAgeMs;
    this.#maxReadMs = maxReadMs;
  }

  /** The last answer, of any age, and when its read began (ms); null before the first. */
  get last(): Copied<T> | null {
    return this.#last;
  }

  /** Returns the last answer, or reads it again with `read`. */
  async load(read: () => Promise<T>): Promise<Copied<T>> {
    const now = currentTime();
    const isBeingRead = isWithin(this.#readingSince, this.#maxReadMs, now);
    if (this.#last && (isBeingRead || isWithin(this.#last.readAt, this.#maxAgeMs, now))) return this.#last;
    this.#readingSince = now;
    try {
      this.#last = { value: await read(), readAt: now };
      return this.#last;
    } finally {
      this.#readingSince = Number.NEGATIVE_INFINITY;
    }
  }
}
