import { currentTime, isWithin, LATE, type Ms, orLate } from "./clock.ts";
import { ClockSteps } from "./clock-steps.ts";
import { GenerationalCache } from "./generational-cache.ts";

/** How long a cached copy may be used, counted from the start of the read that made it. */
export interface CopyPolicy {
  readonly maxAgeMs: Ms;
  /** Additional time while the object that owns the data does not answer. */
  readonly graceMs: Ms;
}

/** Maximum time that a request waits for a read of another request, or for a read when it has a usable copy. */
export const MAX_UPDATE_DELAY_MS: Ms = 1_000;
/** Fraction of the maximum age of a copy after which it is read again in the background. */
const RENEWAL_SHARE = 0.8;
/** Time after which another background read begins: the last read may have ended with its request. */
const RENEWAL_MS = 500;
/** Time after a failed or slow reading during which no request waits for the owner. */
const TROUBLE_MS = 2_000;
/** Maximum number of pending readings that others can wait for, in one generation of the cache. */
const MAX_PENDING = 1024;

/** Whether reads of an object that owns data succeed. */
export interface CopyOwner {
  /** When a reading last failed or was late; -Infinity: never, or the object has answered since. */
  readonly troubleAt: Ms;
  /** When a background read last began, or a read failed, during an outage of the object. */
  renewalBegan: Ms;
  /** Records that the object answered a read that began at `now`. */
  noteAnswer(now: Ms): void;
  /** Records that a reading failed or was late. */
  noteTrouble(error: unknown, copy: AgedCopy): void;
}

/** The age of a copy in use, with its policy. */
export interface AgedCopy extends CopyPolicy {
  /** When its reading began: it was current then or later. */
  readonly readAt: Ms;
}

/**
 * How a request uses a copy: `use` it; use it and read it again in the background (`renew`); read it again, but use it
 * if no answer comes in time (`try`); or read it again and fail without an answer (`wait`).
 */
export type CopyUse = "use" | "renew" | "try" | "wait";

/**
 * Decides how a request at `now` uses a copy whose reading began at `readAt`. `renewalBegan`: when a background reading
 * last began; `troubleAt` as in `CopyOwner`.
 */
export function useOfCopy(
  readAt: Ms,
  { maxAgeMs, graceMs }: CopyPolicy,
  { renewalBegan, troubleAt }: { readonly renewalBegan: Ms; readonly troubleAt: Ms },
  now: Ms,
): CopyUse {
  if (isWithin(readAt, maxAgeMs * RENEWAL_SHARE, now)) return "use";
  const renewed = isWithin(renewalBegan, RENEWAL_MS, now) ? "use" : "renew";
  if (isWithin(readAt, maxAgeMs, now)) return renewed;
  if (!isWithin(readAt, maxAgeMs + graceMs, now)) return "wait";
  return isWithin(troubleAt, TROUBLE_MS, now) ? renewed : "try";
}

/** The clock of this isolate: every use of a copy is a reading of it. */
const clock = new ClockSteps();

/** The start of a read. `keep` compares it with later reads and writes. */
export interface Reading {
  readonly beganAt: Ms;
  /** How often the clock was set back before. */
  readonly clockSteps: number;
  /** Sequence number, common to readings and to writes of this isolate. */
  readonly step: number;
}

interface Copy<A> extends Reading {
  readonly answer: A;
  /** When a background reading last began. */
  renewalBegan: Ms;
}

/** How copies of one kind are kept. */
interface CopyOptions<A> {
  /** Size of an answer; 1 by default. */
  readonly sizeOf?: (answer: A) => number;
  /** False for an answer, such as a refusal, that leaves the copy as it is. */
  readonly isKept?: (answer: A) => boolean;
  /** Continues work after the request. Without it no copy is read again before it is too old. */
  readonly inBackground?: (work: Promise<unknown>) => void;
}

/** The policy of a copy, or a function that derives it from the answer; undefined: there is no usable answer. */
type PolicyOf<A> = CopyPolicy | ((answer: A | undefined) => CopyPolicy);

/**
 * A bounded cache of data of Durable Objects, so that an isolate or another object does not call them for each request.
 * The answer null says that the value does not exist, and is cached. The answer undefined is not cached and drops the
 * copy. An answer is also not cached when this isolate wrote during the read, or a read that began later answered
 * first.
 */
export class Copies<K, A> {
  readonly #copies: GenerationalCache<K, Copy<A>>;
  readonly #pending: GenerationalCache<K, { readonly reading: Reading; readonly answer: Promise<A> }>;
  readonly #options: CopyOptions<A>;
  #steps = 0;
  /** Readings that began before this step may not have seen the last write. */
  #written = 0;

  /** @param maxSize maximum size of a generation of copies, in the unit of `sizeOf`; at most twice as much is kept. */
  constructor(maxSize: number, options: CopyOptions<A> = {}) {
    this.#copies = new GenerationalCache(maxSize);
    this.#pending = new GenerationalCache(Math.min(maxSize, MAX_PENDING));
    this.#options = options;
  }

  /** The copy of `key` at any age, and when its reading began. */
  copied(key: K): Pick<Copy<A>, "answer" | "beganAt"> | undefined {
    return this.#copies.get(key);
  }

  /** The copy of `key`, if its reading began less than `maxAgeMs` ago. */
  find(key: K, maxAgeMs: Ms): A | undefined {
    const now = currentTime();
    const copy = this.#ofKnownAge(key, now);
    return copy && isWithin(copy.beganAt, maxAgeMs, now) ? copy.answer : undefined;
  }

  /** The copy of `key`, unless the clock was set back since its reading began. */
  #ofKnownAge(key: K, now: Ms): Copy<A> | undefined {
    const steps = clock.countUntil(now);
    const copy = this.#copies.get(key);
    return copy?.clockSteps === steps ? copy : undefined;
  }

  /**
   * Returns the copy of `key`, or else the answer of `read`. Concurrent requests wait for one reading. They do not wait
   * longer than `MAX_UPDATE_DELAY_MS`: the runtime drops the answer of a cancelled request, and they would hang.
   *
   * @param owner required for a policy with a grace.
   */
  async load(key: K, policyOf: PolicyOf<A>, read: () => Promise<A>, owner?: CopyOwner): Promise<A> {
    const now = currentTime();
    const copy = this.#ofKnownAge(key, now);
    const policy = typeof policyOf === "function" ? policyOf(copy?.answer) : policyOf;
    if (!copy) return this.#readTogether(key, policy, read, owner);
    const readAt = copy.beganAt;
    const troubleAt = owner?.troubleAt ?? Number.NEGATIVE_INFINITY;
    // An owner that does not answer gets one background read at a time, for whichever of its copies.
    const renewed = owner && troubleAt > Number.NEGATIVE_INFINITY ? owner : copy;
    switch (useOfCopy(readAt, policy, { renewalBegan: renewed.renewalBegan, troubleAt }, now)) {
      case "use":
        return copy.answer;
      case "renew":
        if (this.#options.inBackground) {
          renewed.renewalBegan = now;
          this.#options.inBackground(this.#tryToRead(key, { ...policy, readAt }, read, owner));
        }
        return copy.answer;
      case "try": {
        renewed.renewalBegan = now;
        const answer = await this.#tryToRead(key, { ...policy, readAt }, read, owner);
        return answer === LATE ? copy.answer : answer;
      }
      case "wait":
        return this.#readTogether(key, typeof policyOf === "function" ? policyOf(undefined) : policyOf, read, owner);
    }
  }

  /** Reads `key` again. The answer includes all writes that ended before the call. */
  async refresh(key: K, read: () => Promise<A>, owner?: CopyOwner): Promise<A> {
    const reading = this.begin();
    const pending = { reading, answer: this.#read(key, reading, read, owner) };
    this.#pending.set(key, pending, 1);
    // Other requests may wait for this read after the request that began it has ended.
    this.#options.inBackground?.(pending.answer.catch(() => undefined));
    try {
      return await pending.answer;
    } finally {
      if (this.#pending.get(key) === pending) this.#pending.forget(key);
    }
  }

  /** Begins a reading whose answer goes to `keep`. Call it before the call to the object. */
  begin(): Reading {
    const beganAt = currentTime();
    return { beganAt, clockSteps: clock.countUntil(beganAt), step: ++this.#steps };
  }

  /** Keeps the answer of a read, unless a later read or a write of this isolate may be newer. */
  keep(key: K, answer: A, reading: Reading): void {
    const { isKept, sizeOf } = this.#options;
    const isOlder = reading.step < Math.max(this.#written, this.#copies.get(key)?.step ?? 0);
    if (isOlder) return;
    if (answer === undefined) this.#copies.forget(key);
    else if (isKept?.(answer) ?? true) {
      this.#copies.set(key, { ...reading, answer, renewalBegan: Number.NEGATIVE_INFINITY }, sizeOf?.(answer) ?? 1);
    }
  }

  /** Drops the copy of `key`. Called after every write of this isolate, so that it sees its own writes at once. */
  forget(key: K): void {
    this.#written = ++this.#steps;
    this.#copies.forget(key);
    this.#pending.forget(key);
  }

  clear(): void {
    this.#written = ++this.#steps;
    this.#copies.clear();
    this.#pending.clear();
  }

  async #read(key: K, reading: Reading, read: () => Promise<A>, owner?: CopyOwner): Promise<A> {
    const answer = await read();
    owner?.noteAnswer(reading.beganAt);
    this.keep(key, answer, reading);
    return answer;
  }

  /** Reads again. Returns `LATE` when the reading fails or is late. A late one continues in the background. */
  async #tryToRead(key: K, copy: AgedCopy, read: () => Promise<A>, owner?: CopyOwner): Promise<A | typeof LATE> {
    try {
      const reading = this.#underWay(key, copy)?.answer ?? this.refresh(key, read, owner);
      const answer = await orLate(reading, MAX_UPDATE_DELAY_MS);
      if (answer === LATE) owner?.noteTrouble(new Error(`no answer in ${MAX_UPDATE_DELAY_MS} ms`), copy);
      return answer;
    } catch (error) {
      owner?.noteTrouble(error, copy);
      return LATE;
    }
  }

  /** The reading of another request, if it is new enough to wait for. */
  #underWay(key: K, { maxAgeMs }: CopyPolicy) {
    const other = this.#pending.get(key);
    const newMs = Math.min(maxAgeMs, MAX_UPDATE_DELAY_MS);
    const now = currentTime();
    if (other?.reading.clockSteps !== clock.countUntil(now)) return undefined;
    return isWithin(other.reading.beganAt, newMs, now) ? other : undefined;
  }

  /** Waits for a reading that is under way, or else reads. */
  async #readTogether(key: K, policy: CopyPolicy, read: () => Promise<A>, owner?: CopyOwner): Promise<A> {
    for (let hasFailed = false; ; ) {
      const other = this.#underWay(key, policy);
      if (!other) return this.refresh(key, read, owner);
      try {
        const answer = await orLate(other.answer, MAX_UPDATE_DELAY_MS);
        if (answer !== LATE) return answer;
        const newer = this.find(key, policy.maxAgeMs);
        if (newer !== undefined) return newer;
      } catch (error) {
        if (hasFailed) throw error;
        hasFailed = true;
      }
      if (this.#pending.get(key) === other) this.#pending.forget(key);
    }
  }
}
