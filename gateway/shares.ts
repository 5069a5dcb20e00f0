import type { Deadline } from "./deadline.ts";
import type { Limits } from "./limits.ts";

/** The client of a share. null has no share of its own, for example a trusted proxy. */
export type ShareKey = string | null;

/**
 * A limited resource. Each client may use a fixed ratio of what is free, so that something is left for the next client. With
 * 25 percent, one client alone gets a quarter of the total, and four clients at the same pace get a seventh each.
 */
export class Shares {
  readonly #total: number;
  readonly #percent: number;
  readonly #least: number;
  readonly #taken = new Map<string, number>();
  #sum = 0;

  /**
   * @param percent of the total that one client alone may use; 100 is no bound
   * @param least amount that every client may use while it is free
   */
  constructor(total: number, percent: number, least = 1) {
    this.#total = total;
    this.#percent = percent;
    this.#least = least;
  }

  /** The amount that all clients use together. */
  get used(): number {
    return this.#sum;
  }

  /** Takes an amount. When it is not free or exceeds the client's share, takes nothing and returns false. */
  take(key: ShareKey, amount: number): boolean {
    if (amount > this.#total - this.#sum || !this.isWithinShare(key, amount)) return false;
    this.#sum += amount;
    if (key !== null) this.#taken.set(key, this.#of(key) + amount);
    return true;
  }

  /** True when the client's share allows the amount, even if it is not free. */
  isWithinShare(key: ShareKey, amount: number): boolean {
    if (key === null) return true;
    const wanted = this.#of(key) + amount;
    const free = this.#total - this.#sum - amount;
    return wanted <= this.#least || wanted * (100 - this.#percent) <= free * this.#percent;
  }

  /** Gives back an amount that was taken with the same key. */
  giveBack(key: ShareKey, amount: number): void {
    this.#sum -= amount;
    if (key === null) return;
    const left = this.#of(key) - amount;
    // Deleted at zero, or the map would keep every address.
    if (left > 0) this.#taken.set(key, left);
    else this.#taken.delete(key);
  }

  #of(key: string): number {
    return this.#taken.get(key) ?? 0;
  }
}

/** A turn after at most this time (ms) is prompt. */
const PROMPT_MS = 250;

type MaxWaits = Pick<Limits, "burstMs" | "turnMs">;

/** A waiting request. */
interface Waiting {
  readonly since: number;
  readonly end: (isTurn: boolean) => void;
}

/** The waiting requests of one client, in the order of their arrival. */
interface Queue {
  readonly waiting: Set<Waiting>;
  /** When the client last had a prompt turn or an empty queue. */
  promptAt: number;
}

/**
 * The queue of waiting requests. Clients take turns. Times are milliseconds on the clock of `performance`.
 *
 * If a client's queue becomes short again from time to time, it is a burst, and its requests may wait. A queue that stays
 * long makes every request late and serves none of them sooner, so its requests are refused after a short wait.
 */
export class Turns {
  readonly #byKey = new Map<ShareKey, Queue>();

  /** Resolves to true when it is the turn of the request, and to false when the wait was too long. */
  wait(key: ShareKey, deadline: Deadline, { burstMs, turnMs }: MaxWaits, now: number): Promise<boolean> {
    return new Promise((resolve) => {
      const queue = this.#byKey.get(key) ?? { waiting: new Set(), promptAt: now };
      if (queue.waiting.size === 0) queue.promptAt = now;
      const request = {
        since: now,
        end: (isTurn: boolean): void => {
          deadline.disarm();
          queue.waiting.delete(request);
          resolve(isTurn);
        },
      };
      queue.waiting.add(request);
      this.#byKey.set(key, queue);
      deadline.arm(now - queue.promptAt > burstMs ? turnMs : burstMs, () => request.end(false));
    });
  }

  /** Gives turns to requests, as long as `takes` takes a place for their client. */
  goOn(takes: (key: ShareKey) => boolean, now: number): void {
    for (const [key, queue] of this.#byKey) {
      const [next] = queue.waiting;
      if (next !== undefined && !takes(key)) continue;
      if (next !== undefined && now - next.since <= PROMPT_MS) queue.promptAt = now;
      next?.end(true);
      this.#byKey.delete(key);
      // Moved to the end: the loop reaches it again after all others.
      if (queue.waiting.size > 0) this.#byKey.set(key, queue);
    }
  }
}
