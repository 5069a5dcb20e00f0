import type { Deadline } from "./deadline.ts";
import type { ShareKey } from "./shares.ts";

/** How long a request waits for its turn, in milliseconds. */
export interface TurnLimits {
  /** While requests of its client get their turns promptly, or did so lately: those of a burst are all served. */
  readonly burstMs: number;
  /** When none of them got its turn promptly for `burstMs`: the client asks for more than can be done. */
  readonly turnMs: number;
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
  wait(key: ShareKey, deadline: Deadline, { burstMs, turnMs }: TurnLimits, now: number): Promise<boolean> {
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
