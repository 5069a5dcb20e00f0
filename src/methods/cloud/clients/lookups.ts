import { DurableObject } from "cloudflare:workers";
import type { Failure } from "../../../base/errors.ts";
import { err, ok, type Result } from "../../../base/result.ts";
import type { Env } from "../../../env.ts";
import { unavailable } from "../answers/answer.ts";

/** Looks items up, in the Worker of whoever passes it. What was not found is left out. */
export type FetchItems<T> = (items: string[]) => Promise<Result<Record<string, T>, Failure>>;

/** Most look-ups that wait in one group. With more than that, the cloud is not keeping up. */
const MAX_WAITING = 1000;

interface Waiter {
  readonly item: string;
  readonly fetch: FetchItems<unknown>;
  readonly answer: (result: Result<unknown, Failure>) => void;
}

/** Look-ups that one call can answer together. */
interface Group {
  waiting: Waiter[];
  /** Those whose items are being looked up now. */
  inFlight: Waiter[];
}

/**
 * Lets the look-ups of one account share calls to the cloud. A Worker can't wait for what another request began, so the
 * waiting is done here. The calls are still made in the Workers: each asker brings a function, and of those whose items
 * are looked up together, one has its function called. No key and no address of the cloud comes here, and nothing is
 * stored.
 *
 * A look-up begins at once when none is under way. Those that arrive meanwhile go together with the next call.
 */
export class CloudLookups extends DurableObject<Env> {
  readonly #groups = new Map<string, Group>();

  /**
   * Looks up `item`.
   *
   * @param group what kind of thing it is; items of one group can be looked up in one call.
   * @param maxItems most items of a call.
   * @returns what the call gives for the item, null when it gives nothing.
   */
  ask<T>(group: string, item: string, maxItems: number, fetch: FetchItems<T>): Promise<Result<T | null, Failure>> {
    return new Promise((resolve) => {
      const answer = (result: Result<unknown, Failure>): void => resolve(result as Result<T | null, Failure>);
      const waiter: Waiter = { item, fetch, answer };
      const running = this.#groups.get(group);
      if (!running) {
        const started: Group = { waiting: [waiter], inFlight: [] };
        this.#groups.set(group, started);
        void this.#run(group, started, maxItems);
      } else if (running.inFlight.some((other) => other.item === item)) {
        running.inFlight.push(waiter);
      } else if (running.waiting.length >= MAX_WAITING) {
        answer(err(unavailable("too many look-ups wait for the cloud")));
      } else {
        running.waiting.push(waiter);
      }
    });
  }

  async #run(name: string, group: Group, maxItems: number): Promise<void> {
    while (group.waiting.length > 0) {
      const items = [...new Set(group.waiting.map((waiter) => waiter.item))].slice(0, maxItems);
      group.inFlight = group.waiting.filter((waiter) => items.includes(waiter.item));
      group.waiting = group.waiting.filter((waiter) => !items.includes(waiter.item));
      const found = await fetchByOne(group.inFlight, items);
      const result = found ?? err(INTERRUPTED);
      for (const waiter of group.inFlight) waiter.answer(result.ok ? ok(result.value[waiter.item] ?? null) : result);
      group.inFlight = [];
      // The service refused every retry: the look-ups that waited share the failure, since a new call would only add
      // load. When the callers disconnected instead, the waiting ones go on: a client must not be able to fail the
      // look-ups of others.
      if (found && !found.ok && found.error.code === "unavailable") {
        for (const waiter of group.waiting) waiter.answer(found);
        group.waiting = [];
      }
    }
    this.#groups.delete(name);
  }
}

const INTERRUPTED = unavailable("the look-up was interrupted");

/**
 * Calls the fetch function of one waiter; of the next one when its Worker has gone, as when a client disconnects. null
 * when all have gone.
 */
async function fetchByOne(
  waiters: readonly Waiter[],
  items: string[],
): Promise<Result<Record<string, unknown>, Failure> | null> {
  for (const waiter of waiters) {
    try {
      return await waiter.fetch(items);
    } catch {
      // Nobody reads this answer any more, but its call must not stay open.
      waiter.answer(err(INTERRUPTED));
    }
  }
  return null;
}
