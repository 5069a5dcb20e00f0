import { allowanceOf, type Networks } from "../base/client-network.ts";
import type { Ms } from "../base/clock.ts";
import { GenerationalCache } from "../base/generational-cache.ts";
import type { RateLimit } from "./quota.ts";

/** Result of counting one request under a limit. */
export interface Counted {
  readonly allowed: boolean;
  readonly limit: number;
  readonly remaining: number;
  /** Time until the full limit is available again: at the next interval, or at the end of a block. */
  readonly resetMs: Ms;
  /** True for the first refusal in an interval or block. Later ones need not be logged: they add no information. */
  readonly first: boolean;
}

/** The requests of one client in its current interval. */
interface Window {
  /** Start of the interval; the first one starts with the first request of the client. */
  startedAt: Ms;
  used: number;
  /** End of the block; 0 for none. */
  blockedUntil: Ms;
  refused: boolean;
}

/**
 * Request counts of clients under limits, in the memory of this isolate. The number of clients is bounded: above it,
 * those that sent nothing for the longest time are dropped. An attacker with that many addresses gains nothing by this,
 * since each address has a limit of its own anyway.
 */
export class ClientWindows {
  readonly #windows: GenerationalCache<string, Window>;

  /** @param most maximum number of clients. The most recent half of that number always stays. */
  constructor(most: number) {
    this.#windows = new GenerationalCache(most / 2);
  }

  /**
   * Counts a request. `key` identifies the limit and the client together.
   * @param weight 0 for a request that is not counted, but is refused like others when the limit is used up.
   */
  count(key: string, limit: RateLimit, now: Ms, weight: 0 | 1 = 1): Counted {
    const window = this.#current(key, limit, now);
    const most = Math.max(1, Math.round(limit.rate));
    const allowed = window.used < most;
    if (allowed) window.used += weight;
    const first = !allowed && noteRefusal(window);
    if (first) window.blockedUntil = now + limit.blockInterval * 1000;
    const resetMs = Math.max(window.startedAt + limit.interval * 1000, window.blockedUntil) - now;
    return { allowed, limit: most, remaining: most - window.used, resetMs, first };
  }

  /**
   * Counts a request in each network of its client. Stops at the first network whose limit is used up, so that a network
   * that sends too much uses up no wider one. Returns the count of that network, else of the narrowest one.
   *
   * @param name identifies the limit
   */
  countClient(name: string, [narrowest, ...wider]: Networks, limit: RateLimit, now: Ms, weight: 0 | 1 = 1): Counted {
    const countIn = (network: string, width: number): Counted => {
      const rate = limit.rate * allowanceOf(width);
      return this.count(`${name} ${network}`, { ...limit, rate }, now, weight);
    };
    const own = countIn(narrowest, 0);
    if (!own.allowed) return own;
    for (const [index, network] of wider.entries()) {
      const counted = countIn(network, index + 1);
      if (!counted.allowed) return counted;
    }
    return own;
  }

  /** Notes that a request was refused for another reason. Returns true for the first refusal, as in `Counted`. */
  refuse(key: string): boolean {
    const window = this.#windows.get(key);
    return window !== undefined && noteRefusal(window);
  }

  /** Returns the window of a client at `now`, a new one when there is none or its interval is over. */
  #current(key: string, { interval }: RateLimit, now: Ms): Window {
    const known = this.#windows.get(key);
    if (known && isCurrent(known, interval * 1000, now)) return known;
    const window = { startedAt: startOf(known, interval * 1000, now), used: 0, blockedUntil: 0, refused: false };
    this.#windows.set(key, window, 1);
    return window;
  }
}

function noteRefusal(window: Window): boolean {
  const first = !window.refused;
  window.refused = true;
  return first;
}

/** True while the window counts. It ends when the clock was set back. A block can extend it beyond its interval. */
function isCurrent({ startedAt, blockedUntil }: Window, intervalMs: Ms, now: Ms): boolean {
  return now >= startedAt && (now < startedAt + intervalMs || now < blockedUntil);
}

/** Returns the start of the interval at `now`. Intervals of a client follow each other without gaps. */
function startOf(known: Window | undefined, intervalMs: Ms, now: Ms): Ms {
  if (!known || now < known.startedAt) return now;
  return now - ((now - known.startedAt) % intervalMs);
}
