import { GenerationalCache } from "../base/generational-cache.ts";
import type { RateLimit } from "./quota.ts";

/** What became of one request under a limit. */
export interface Counted {
  readonly allowed: boolean;
  /** Requests in an interval. */
  readonly limit: number;
  /** Requests that are left in this one. */
  readonly remaining: number;
  /** ms until there are as many again: until the next interval, or the end of a block. */
  readonly resetMs: number;
  /** True for the first refusal in an interval or block: the ones after it say nothing new. */
  readonly first: boolean;
}

/** The requests of one client in its current interval. Times in ms. */
interface Window {
  /** An interval begins with the first request of a client. */
  startedAt: number;
  used: number;
  /** 0 for none. */
  blockedUntil: number;
  refused: boolean;
}

/**
 * The requests that clients sent under limits, in the memory of this isolate. The number of clients is bounded: when there are
 * more at once, those that sent nothing for the longest time are forgotten. A client with that many addresses has a limit for
 * each of them anyway.
 */
export class AddressWindows {
  readonly #windows: GenerationalCache<string, Window>;

  /** @param most clients that are remembered; at least half of them are. */
  constructor(most: number) {
    this.#windows = new GenerationalCache(most / 2);
  }

  /**
   * Counts a request.
   *
   * @param key of a limit and a client together.
   * @param now ms.
   * @param weight 0 for a request that uses up nothing, but is refused as any other.
   */
  count(key: string, limit: RateLimit, now: number, weight: 0 | 1 = 1): Counted {
    const window = this.#current(key, limit, now);
    const most = Math.max(1, Math.round(limit.rate));
    const allowed = window.used < most;
    if (allowed) window.used += weight;
    const first = !allowed && noteRefusal(window);
    if (first) window.blockedUntil = now + limit.blockInterval * 1000;
    const resetMs = Math.max(window.startedAt + limit.interval * 1000, window.blockedUntil) - now;
    return { allowed, limit: most, remaining: most - window.used, resetMs, first };
  }

  /** Notes that a request was refused for another reason. True for the first refusal, as in `Counted`. */
  refuse(key: string): boolean {
    const window = this.#windows.get(key);
    return window !== undefined && noteRefusal(window);
  }

  /** The window of a client at `now`, a new one when there is none or its interval is over. */
  #current(key: string, { interval }: RateLimit, now: number): Window {
    const known = this.#windows.get(key);
    if (known && isCurrent(known, interval * 1000, now)) return known;
    const window = { startedAt: startOf(known, interval * 1000, now), used: 0, blockedUntil: 0, refused: false };
    this.#windows.set(key, window, 1);
    return window;
  }
}

/** True the first time. */
function noteRefusal(window: Window): boolean {
  const first = !window.refused;
  window.refused = true;
  return first;
}

/** A clock that went back begins again. A client that is blocked stays so beyond its interval. */
function isCurrent({ startedAt, blockedUntil }: Window, intervalMs: number, now: number): boolean {
  return now >= startedAt && (now < startedAt + intervalMs || now < blockedUntil);
}

/** Intervals of a client follow each other without gaps. */
function startOf(known: Window | undefined, intervalMs: number, now: number): number {
  if (!known || now < known.startedAt) return now;
  return now - ((now - known.startedAt) % intervalMs);
}
