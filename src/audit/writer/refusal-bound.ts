import type { Ms } from "../../base/clock.ts";
import { hourOf } from "./use-counts.ts";

/** Refusals that are kept in full, in an hour: of one network of clients or one token, and of all of these together. */
export const MAX_IN_FULL = 100;
export const MAX_ALL_IN_FULL = 5_000;
/** Maximum number of networks or tokens that are counted apart in an hour. Others are counted together, under "". */
export const MAX_SOURCES = 1024;

/** Whose refusals are counted: those of a network without a caller, or those of a token that is alive. */
type RefusalSource = "network" | "token";

/** Refusals of one hour that are not kept in full. */
export interface MoreRefusals {
  readonly of: RefusalSource;
  /** The network, see `clientNetworks`, or the accessor or keyed hash of the token; "": many, or not known. */
  readonly source: string;
  readonly count: number;
  readonly first: Ms;
  readonly last: Ms;
}

interface Counter {
  inFull: number;
  count: number;
  first: Ms;
  last: Ms;
}

/**
 * Bounds what refusals can have stored: of each network of clients without a token, and of each token, some an hour are
 * kept in full, the others are counted. So noise can't push out the history.
 */
export class RefusalBound {
  readonly #of: RefusalSource;
  #hour: Ms = 0;
  #inFull = 0;
  #counters = new Map<string, Counter>();
  /** Counts of hours that are over. */
  #ended: MoreRefusals[] = [];

  constructor(of: RefusalSource) {
    this.#of = of;
  }

  /** Returns true for a refusal that is kept in full; another one is counted. */
  admit(source: string, now: Ms): boolean {
    this.#beginHour(now);
    const counter = this.#counterOf(source);
    if (counter.inFull < MAX_IN_FULL && this.#inFull < MAX_ALL_IN_FULL) {
      counter.inFull++;
      this.#inFull++;
      return true;
    }
    counter.first = counter.count === 0 ? now : Math.min(counter.first, now);
    counter.last = Math.max(counter.last, now);
    counter.count++;
    return false;
  }

  /** Removes the counts of the hours that are over, and returns them. */
  takeEnded(now: Ms): readonly MoreRefusals[] {
    this.#beginHour(now);
    const ended = this.#ended;
    this.#ended = [];
    return ended;
  }

  #beginHour(now: Ms): void {
    const hour = hourOf(now);
    // A clock that goes back opens no new allowance.
    if (hour <= this.#hour) return;
    const counted = [...this.#counters].filter(([, { count }]) => count > 0);
    const more = counted.map(([source, { count, first, last }]) => ({ of: this.#of, source, count, first, last }));
    this.#ended = [...this.#ended, ...more].slice(-MAX_SOURCES);
    this.#hour = hour;
    this.#inFull = 0;
    this.#counters = new Map();
  }

  #counterOf(source: string): Counter {
    const known = this.#counters.get(source);
    if (known) return known;
    if (this.#counters.size >= MAX_SOURCES && source !== "") return this.#counterOf("");
    const counter = { inFull: 0, count: 0, first: 0, last: 0 };
    this.#counters.set(source, counter);
    return counter;
  }
}
