import { DurableObject } from "cloudflare:workers";
import { currentTime } from "../../../base/clock.ts";
import { GenerationalCache } from "../../../base/generational-cache.ts";
import { within } from "../../../base/location.ts";
import { err, ok, type Result } from "../../../base/result.ts";
import { serviceUnavailable } from "../../send.ts";
import type { VmInstance } from "../answers/ec2.ts";
import type { IamPrincipal } from "../answers/iam.ts";
import { type AccountClient, nameOf } from "./client.ts";

/** Looks items up, in the Worker that passes it. What was not found is left out. */
type FetchItems<T> = (items: string[]) => Promise<Result<Record<string, T>>>;

/** A request for an item, and how to answer it. */
interface Waiter<T> {
  readonly item: string;
  readonly fetch: FetchItems<T>;
  readonly answer: (result: Result<T | null>) => void;
}

/** Most look-ups that wait for a call. With more than that, the cloud is not keeping up. */
const MAX_WAITING = 1000;

const INTERRUPTED = serviceUnavailable("the look-up was interrupted");

/**
 * Look-ups that calls can answer together. A look-up begins at once when no call is under way. Those that arrive meanwhile go
 * together with the next call; a further call beside it begins when there are enough of them to fill it.
 */
export class CallQueue<T> {
  readonly #maxItems: number;
  readonly #clock: () => number;
  readonly #ended: () => void;
  /** By item: each is looked up once for all who asked. In the order of arrival. */
  readonly #waiting = new Map<string, Waiter<T>[]>();
  /** The same for items whose call is under way. */
  readonly #inFlight = new Map<string, Waiter<T>[]>();
  #waiters = 0;
  #calls = 0;
  #width: CallWidth;

  /**
   * @param maxItems most items of a call.
   * @param width what is known of the cloud's refusals.
   * @param clock the time in ms.
   * @param ended called when nothing waits and no call is under way any more.
   */
  constructor(maxItems: number, width: CallWidth, clock: () => number, ended: () => void) {
    this.#maxItems = maxItems;
    this.#width = width;
    this.#clock = clock;
    this.#ended = ended;
  }

  /** How many calls may be under way. */
  get width(): CallWidth {
    return this.#width;
  }

  /** Takes a look-up, which is answered once. */
  add(waiter: Waiter<T>): void {
    const others = this.#inFlight.get(waiter.item);
    if (others) {
      others.push(waiter);
    } else if (this.#waiters >= MAX_WAITING) {
      waiter.answer(err(serviceUnavailable("too many look-ups wait for the cloud")));
    } else {
      this.#wait(waiter);
      this.#begin();
    }
  }

  #wait(waiter: Waiter<T>): void {
    this.#waiters++;
    const same = this.#waiting.get(waiter.item);
    if (same) same.push(waiter);
    else this.#waiting.set(waiter.item, [waiter]);
  }

  #begin(): void {
    while (this.#mayBegin()) void this.#call([...this.#waiting.keys()].slice(0, this.#maxItems));
  }

  /**
   * Whether a further call may begin. One that is alone may always; one beside others only with as many items as a call takes:
   * the items would otherwise have gone together with the next call, and it costs the cloud nothing that they wait for it.
   */
  #mayBegin(): boolean {
    const waiting = this.#waiting.size;
    if (waiting === 0 || this.#calls === 0) return waiting > 0;
    const width = isFull(this.#width, this.#clock()) ? FULL_WIDTH : this.#width.calls;
    return waiting >= this.#maxItems && this.#calls < width;
  }

  async #call(items: string[]): Promise<void> {
    const { refusals } = this.#width;
    this.#calls++;
    for (const item of items) {
      const waiters = this.#waiting.get(item) ?? [];
      this.#waiting.delete(item);
      this.#waiters -= waiters.length;
      this.#inFlight.set(item, waiters);
    }
    const found = await this.#fetchByOne(items);
    this.#calls--;
    for (const item of items) {
      const waiters = this.#inFlight.get(item) ?? [];
      this.#inFlight.delete(item);
      for (const waiter of waiters) waiter.answer(partOf(found ?? err(INTERRUPTED), item));
    }
    if (found) this.#learn(found, refusals);
    this.#begin();
    if (this.#calls === 0) this.#ended();
  }

  /**
   * The service refused every retry: the look-ups that wait share the failure, since a new call would only add load. When the
   * callers disconnected instead, the waiting ones go on: a client must not be able to fail the look-ups of others.
   */
  #learn(found: Result<unknown>, refusals: number): void {
    if (found.ok || found.error.code !== "unavailable") {
      // A call that began before the last refusal says nothing about the time after it.
      const calls = Math.min(FULL_WIDTH, this.#width.calls + 1);
      if (refusals === this.#width.refusals) this.#width = { ...this.#width, calls };
      return;
    }
    this.#width = { calls: 1, refusals: this.#width.refusals + 1, refusedAt: this.#clock() };
    const waiting = [...this.#waiting.values()].flat();
    this.#waiting.clear();
    this.#waiters = 0;
    for (const waiter of waiting) waiter.answer(found);
  }

  /**
   * Calls the fetch function of one waiter; of the next one when its Worker has gone, as when a client disconnects. null when
   * all have gone.
   */
  async #fetchByOne(items: string[]): Promise<Result<Record<string, T>> | null> {
    for (;;) {
      const waiters = items.map((item) => this.#inFlight.get(item) ?? []).find((some) => some.length > 0);
      const [waiter] = waiters ?? [];
      if (!waiter) return null;
      try {
        return await waiter.fetch(items);
      } catch {
        // Its caller has gone, but the call must not stay open.
        waiters?.shift();
        waiter.answer(err(INTERRUPTED));
      }
    }
  }
}

function partOf<T>(found: Result<Record<string, T>>, item: string): Result<T | null> {
  if (!found.ok) return found;
  return ok((Object.hasOwn(found.value, item) ? found.value[item] : null) ?? null);
}

/** Most calls of one group that are under way at the same time. */
const FULL_WIDTH = 4;
/** How long (ms) a refusal is remembered. */
const REMEMBERED_MS = 60_000;

/** How many calls of a group may be under way: fewer after the cloud refused one because it is overloaded. */
export interface CallWidth {
  readonly calls: number;
  /** Refusals so far. */
  readonly refusals: number;
  /** When the cloud last refused (ms); -Infinity for never. */
  readonly refusedAt: number;
}

/** The width of a group that was never refused. */
export const UNREFUSED: CallWidth = { calls: FULL_WIDTH, refusals: 0, refusedAt: Number.NEGATIVE_INFINITY };

/** True when the width is full: nothing about it has to be remembered. `now` in ms. */
export function isFull(width: CallWidth, now: number): boolean {
  return width.calls === FULL_WIDTH || now - width.refusedAt >= REMEMBERED_MS;
}

/** What is looked up. */
type Found = VmInstance | IamPrincipal;

/** Groups whose refusals are remembered in one generation. There are as many as regions, and more only where IAM refuses. */
const MAX_REFUSED = 256;

/**
 * Lets the look-ups of one account share calls to the cloud. A Worker can't wait for what another request began, so the
 * waiting is done here. The calls are still made in the Workers: each asker brings a function, and of those whose items
 * are looked up together, one has its function called. No key and no address of the cloud comes here, and nothing is
 * stored.
 */
export class CloudLookups extends DurableObject {
  /** The groups with look-ups, by name. */
  readonly #queues = new Map<string, CallQueue<Found>>();
  /** What is remembered of groups that the cloud refused a call of. */
  readonly #refused = new GenerationalCache<string, CallWidth>(MAX_REFUSED);

  /**
   * Looks up `item`.
   *
   * @param group what kind of thing it is; items of one group can be looked up in one call.
   * @param maxItems most items of a call; the same for all of a group.
   * @returns what the call gives for the item, null when it gives nothing.
   */
  ask(group: string, item: string, maxItems: number, fetch: FetchItems<Found>): Promise<Result<Found | null>> {
    return new Promise((answer) => {
      const queue = this.#queues.get(group) ?? this.#openQueue(group, maxItems);
      queue.add({ item, fetch, answer });
    });
  }

  #openQueue(group: string, maxItems: number): CallQueue<Found> {
    const width = this.#refused.get(group) ?? UNREFUSED;
    const queue = new CallQueue<Found>(maxItems, width, currentTime, () => {
      this.#queues.delete(group);
      if (isFull(queue.width, currentTime())) this.#refused.forget(group);
      else this.#refused.set(group, queue.width, 1);
    });
    this.#queues.set(group, queue);
    return queue;
  }
}

/** Items of an account that one call can look up together. */
type LookupGroup = {
  readonly name: string;
  /** Most items of a call. */
  readonly maxItems: number;
};

/** Looks up an item of an account. Equal and similar look-ups of other requests share the call. */
export async function sharedLookup(
  { client, account }: AccountClient,
  group: LookupGroup,
  item: string,
  fetch: FetchItems<Found>,
): Promise<Result<Found | null>> {
  const { accountId, stsRole } = account;
  const name = await nameOf(client.revision, accountId, stsRole?.arn ?? null, stsRole?.externalId ?? null);
  const lookups = within(client.env, client.env.CLOUD_LOOKUPS).getByName(name);
  return lookups.ask(group.name, item, group.maxItems, fetch);
}
