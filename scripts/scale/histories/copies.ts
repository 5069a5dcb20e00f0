import type { CopyLimits, CopyState, CopyUse } from "../../../src/system/copy-age.ts";
import { indexWatermarks, NO_WATERMARKS, type Watermark, type Watermarks } from "../../../src/system/watermarks.ts";
import type { Random } from "./random.ts";
import type { Timeline } from "./timeline.ts";

/** POLICY_CACHE_SECONDS and POLICY_GRACE_SECONDS as they are unless set, in ms. */
export const LIMITS: CopyLimits = { maxAgeMs: 5_000, graceMs: 60_000 };
/** How long a request waits for the system object when it has a copy that it can go on with (ms). */
export const PATIENCE_MS = 1_000;
/** The longest time that the system object takes for an answer while it is not away (ms). */
const SLOWEST_MS = 300;

/** The rule that decides what a request does about its isolate's copy. */
export type UseOfCopy = (copy: CopyState, limits: CopyLimits, now: number) => CopyUse;

/** The system object: it has the watermarks, and is away at times. */
export class SystemObject {
  readonly #timeline: Timeline;
  readonly #random: Random;
  #marks: Watermark[] = [];
  #awayUntil = Number.NEGATIVE_INFINITY;
  /** Times in which it was away: from, to. */
  readonly outages: { readonly from: number; readonly to: number }[] = [];

  constructor(timeline: Timeline, random: Random) {
    this.#timeline = timeline;
    this.#random = random;
  }

  get isAway(): boolean {
    return this.#timeline.now < this.#awayUntil;
  }

  leave(ms: number): void {
    if (this.isAway) return;
    this.#awayUntil = this.#timeline.now + ms;
    this.outages.push({ from: this.#timeline.now, to: this.#awayUntil });
  }

  /** Asks it something: `answered` is called with what it has at some moment before, or never while it is away. */
  ask(answered: (known: Watermarks) => void): void {
    const there = this.#random.below(SLOWEST_MS / 2);
    const back = this.#random.below(SLOWEST_MS / 2);
    this.#timeline.after(there, () => {
      if (this.isAway) return;
      const newest = this.#marks.at(-1)?.number ?? 0;
      const known = indexWatermarks([...this.#marks], newest);
      this.#timeline.after(back, () => answered(known));
    });
  }

  /** Writes a watermark; as `ask`. */
  write(mark: Omit<Watermark, "number">, answered: (known: Watermarks) => void): void {
    const there = this.#random.below(SLOWEST_MS / 2);
    this.#timeline.after(there, () => {
      if (this.isAway) return;
      const number = Math.max((this.#marks.at(-1)?.number ?? 0) + 1, this.#timeline.now);
      this.#marks = [...this.#marks, { ...mark, number }];
      this.ask(answered);
    });
  }
}

/** An isolate of the Worker or of objects with its copy of the installation. */
export class Isolate {
  readonly #timeline: Timeline;
  readonly #system: SystemObject;
  readonly #useOfCopy: UseOfCopy;
  #state: CopyState = {
    checkedAt: Number.NEGATIVE_INFINITY,
    renewalBegan: Number.NEGATIVE_INFINITY,
    troubleAt: Number.NEGATIVE_INFINITY,
  };
  #known: Watermarks = NO_WATERMARKS;

  constructor(timeline: Timeline, system: SystemObject, useOfCopy: UseOfCopy) {
    this.#timeline = timeline;
    this.#system = system;
    this.#useOfCopy = useOfCopy;
  }

  /** When its copy was last known to be true (ms). */
  get checkedAt(): number {
    return this.#state.checkedAt;
  }

  /** Gives what a request works with; `failed` when there is nothing that it may go on with. */
  load(used: (known: Watermarks) => void, failed: () => void): void {
    switch (this.#useOfCopy(this.#state, LIMITS, this.#timeline.now)) {
      case "use":
        used(this.#known);
        break;
      case "renew":
        this.#renew(() => {});
        used(this.#known);
        break;
      case "try":
        this.#readOr(used, () => used(this.#known));
        break;
      case "wait":
        this.#readOr(used, failed);
    }
  }

  /** The same, not older than `watermark`. */
  loadSince(watermark: number, used: (known: Watermarks) => void, failed: () => void): void {
    this.load((known) => {
      if (known.newest < watermark) this.#readOr(used, failed);
      else used(known);
    }, failed);
  }

  /** Takes over what an own write found. */
  learn(known: Watermarks, checkedAt: number): void {
    if (known.newest >= this.#known.newest) this.#known = known;
    this.#state = {
      ...this.#state,
      checkedAt: Math.max(this.#state.checkedAt, checkedAt),
      troubleAt: Number.NEGATIVE_INFINITY,
    };
  }

  /** Reads anew; `otherwise` when there is no answer in time. */
  #readOr(used: (known: Watermarks) => void, otherwise: () => void): void {
    let isOver = false;
    const end = (work: () => void) => {
      if (isOver) return;
      isOver = true;
      work();
    };
    this.#renew(() => end(() => used(this.#known)));
    this.#timeline.after(PATIENCE_MS, () =>
      end(() => {
        this.#state = { ...this.#state, troubleAt: this.#timeline.now };
        otherwise();
      }),
    );
  }

  #renew(done: () => void): void {
    const began = this.#timeline.now;
    this.#state = { ...this.#state, renewalBegan: began };
    this.#system.ask((known) => {
      this.learn(known, began);
      done();
    });
  }
}
