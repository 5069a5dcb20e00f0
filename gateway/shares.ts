import type { Deadline } from "./deadline.ts";
import type { Limits } from "./limits.ts";

/** The client that a share is counted for. null has no share of its own, for example a trusted proxy. */
export type ShareKey = string | null;

/**
 * A limited resource. Each client may use a part of what is left free: at 25 percent a client alone gets a quarter of it all, and four
 * clients at the same pace a seventh each. With fixed parts four clients could use up everything.
 */
export class Shares {
  readonly #total: number;
  readonly #percent: number;
  readonly #least: number;
  readonly #taken = new Map<string, number>();
  #sum = 0;

  /**
   * @param total amount that there is for all
   * @param percent of the total that a client alone may use; 100 is no bound
   * @param least amount that every client may use while there is so much left
   */
  constructor(total: number, percent: number, least = 1) {
    this.#total = total;
    this.#percent = percent;
    this.#least = least;
  }

  /** The sum of all shares in use. */
  get used(): number {
    return this.#sum;
  }

  /** Takes an amount, or nothing and returns false when there is not so much left. */
  take(key: ShareKey, amount: number): boolean {
    if (amount > this.#total - this.#sum || !this.isWithinShare(key, amount)) return false;
    this.#sum += amount;
    if (key !== null) this.#taken.set(key, this.#of(key) + amount);
    return true;
  }

  /** True when the client's own share allows the amount, whether there is so much left or not. */
  isWithinShare(key: ShareKey, amount: number): boolean {
    if (key === null) return true;
    const wanted = this.#of(key) + amount;
    const free = this.#total - this.#sum - amount;
    return wanted <= this.#least || wanted * (100 - this.#percent) <= free * this.#percent;
  }

  /** Gives back an amount that was taken under the same key. */
  giveBack(key: ShareKey, amount: number): void {
    this.#sum -= amount;
    if (key === null) return;
    const left = this.#of(key) - amount;
    // Without the deletion the map would remember every address that ever called.
    if (left > 0) this.#taken.set(key, left);
    else this.#taken.delete(key);
  }

  #of(key: string): number {
    return this.#taken.get(key) ?? 0;
  }
}

/** A turn that is waited for no longer than this (ms) came promptly. */
const PROMPT_MS = 250;

/** A request that waits. */
interface Waiting {
  readonly since: number;
  readonly end: (isTurn: boolean) => void;
}

/** Requests of one client that wait, in the order in which they came. */
interface Queue {
  readonly waiting: Set<Waiting>;
  /** When a request was last known to wait for a short time only. */
  promptAt: number;
}

/**
 * Requests that wait: the next is one of the client that was served longest ago. Times are milliseconds on the clock of `performance`.
 *
 * A queue that becomes short again from time to time is a burst, and its requests are worth waiting for. One that stays long only makes
 * every request late, so what waits there for too long is refused.
 */
export class Turns {
  readonly #byKey = new Map<ShareKey, Queue>();

  /** Resolves to true when it is the turn of a request of this client; to false when that takes too long. */
  wait(
    key: ShareKey,
    deadline: Deadline,
    { burstMs, turnMs }: Pick<Limits, "burstMs" | "turnMs">,
    now: number,
  ): Promise<boolean> {
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

  /** Lets requests go on as long as there is something for them to take. */
  goOn(takes: (key: ShareKey) => boolean, now: number): void {
    for (const [key, queue] of this.#byKey) {
      const [next] = queue.waiting;
      if (next !== undefined && !takes(key)) continue;
      if (next !== undefined && now - next.since <= PROMPT_MS) queue.promptAt = now;
      next?.end(true);
      this.#byKey.delete(key);
      // At the end: the loop comes to it again after all others.
      if (queue.waiting.size > 0) this.#byKey.set(key, queue);
    }
  }
}
