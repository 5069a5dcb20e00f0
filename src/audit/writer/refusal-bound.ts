import { clientNetworks } from "../../base/client-network.ts";
import type { Ms } from "../../base/clock.ts";
import { hourOf } from "./use-counts.ts";

/** Refusals without a caller that are kept in full, in an hour: of one network of a client, and of all together. */
export const MAX_IN_FULL = 100;
export const MAX_ALL_IN_FULL = 5_000;
/** Maximum number of networks that are counted apart in an hour. All others are counted together, under "". */
export const MAX_NETWORKS = 2048;

/** Refusals of one hour that are not kept in full. */
export interface MoreRefusals {
  /** The network of the clients, see `clientNetworks`; "": many networks, or no address is known. */
  readonly network: string;
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
 * Bounds what anybody without a token can have stored: of a network of a client some refusals an hour are kept in full,
 * the others are counted. So noise can't push out the history.
 */
export class RefusalBound {
  #hour: Ms = 0;
  #inFull = 0;
  #counters = new Map<string, Counter>();
  /** Counts of hours that are over. */
  #ended: MoreRefusals[] = [];

  /** Returns true for a refusal that is kept in full; another one is counted. */
  admit(address: string | null, now: Ms): boolean {
    this.#beginHour(now);
    const counter = this.#counterOf(address === null ? "" : clientNetworks(address)[0]);
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
    const more = counted.map(([network, { count, first, last }]) => ({ network, count, first, last }));
    this.#ended = [...this.#ended, ...more].slice(-MAX_NETWORKS);
    this.#hour = hour;
    this.#inFull = 0;
    this.#counters = new Map();
  }

  #counterOf(network: string): Counter {
    const known = this.#counters.get(network);
    if (known) return known;
    if (this.#counters.size >= MAX_NETWORKS && network !== "") return this.#counterOf("");
    const counter = { inFull: 0, count: 0, first: 0, last: 0 };
    this.#counters.set(network, counter);
    return counter;
  }
}
