import type { ShareNetworks, Shares } from "./client-shares.ts";
import type { Deadline } from "./deadline.ts";
import type { Limits } from "./limits.ts";

/** A turn after at most this time (ms) is prompt. */
const PROMPT_MS = 250;

type MaxWaits = Pick<Limits, "burstMs" | "turnMs">;

/** A waiting request. */
interface Waiting {
  readonly networks: ShareNetworks;
  readonly since: number;
  readonly end: (isTurn: boolean) => void;
}

/** The waiting requests of one client (its widest network), in the order of their arrival. */
interface Queue {
  readonly waiting: Set<Waiting>;
  /** When the client last had a prompt turn or an empty queue. */
  promptAt: number;
}

/**
 * Places for requests in flight, and the queue of those that wait for one. Clients take turns, and a client that did not wait
 * yet is next, so that a client with few requests does not wait for all that have many. Times are milliseconds on the clock
 * of `performance`.
 *
 * If a client's queue becomes short again from time to time, it is a burst, and its requests may wait. A queue that stays
 * long makes every request late and serves none of them sooner, so its requests are refused after a short wait.
 */
export class FairQueue {
  readonly #places: Shares;
  /** Clients that had no turn yet. They come before the others. */
  readonly #first = new Map<string | undefined, Queue>();
  /**
   * Other clients in the order of their turns. An empty queue stays until its turn, or its client would count as new.
   */
  readonly #others = new Map<string | undefined, Queue>();

  constructor(places: Shares) {
    this.#places = places;
  }

  /** Takes a place at once; false when the request has to wait. */
  take(networks: ShareNetworks): boolean {
    return this.#places.take(networks, 1);
  }

  /** Resolves to true when the request has got a place, and to false when the wait was too long. */
  wait(networks: ShareNetworks, deadline: Deadline, { burstMs, turnMs }: MaxWaits, now: number): Promise<boolean> {
    return new Promise((resolve) => {
      const key = networks.at(-1);
      const known = this.#others.get(key) ?? this.#first.get(key);
      const queue = known ?? { waiting: new Set(), promptAt: now };
      if (queue.waiting.size === 0) queue.promptAt = now;
      const request = {
        networks,
        since: now,
        end: (isTurn: boolean): void => {
          deadline.disarm();
          queue.waiting.delete(request);
          resolve(isTurn);
        },
      };
      queue.waiting.add(request);
      if (known === undefined) this.#first.set(key, queue);
      deadline.arm(now - queue.promptAt > burstMs ? turnMs : burstMs, () => request.end(false));
    });
  }

  /** Gives a place back, and the free places to waiting requests. */
  giveBack(networks: ShareNetworks, now: number): void {
    const places = this.#places;
    places.giveBack(networks, 1);
    for (const queues of [this.#first, this.#others]) {
      for (const [key, queue] of queues) {
        const [next] = queue.waiting;
        if (next === undefined ? places.isUsedUp : !places.take(next.networks, 1)) continue;
        queues.delete(key);
        if (next === undefined) continue;
        if (now - next.since <= PROMPT_MS) queue.promptAt = now;
        next.end(true);
        // At the end: the loop reaches it again after all others.
        this.#others.set(key, queue);
      }
    }
  }

  /** Forgets the waiting requests. They are refused when their wait is too long. */
  clear(): void {
    this.#first.clear();
    this.#others.clear();
  }
}
