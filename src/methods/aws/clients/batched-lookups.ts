import { DurableObject } from "cloudflare:workers";
import { currentTime, type Ms } from "../../../base/clock.ts";
import { GenerationalCache } from "../../../base/generational-cache.ts";
import { objectNamed } from "../../../base/object-stub.ts";
import { serviceUnavailable } from "../../../base/outbound-http.ts";
import { err, ok, type Result } from "../../../base/result.ts";
import type { IamPrincipal, VmInstance } from "../answers/read-answers.ts";
import { type AccountClient, hashOf } from "./client.ts";

/** Looks up items in the Worker that passes this function. Items that are not found are left out. */
type FetchItems<T> = (items: string[]) => Promise<Result<Record<string, T>>>;

type Waiter<T> = { readonly fetch: FetchItems<T>; readonly answer: (result: Result<T | null>) => void };

/** Maximum number of requests that wait for a call. With more than that, the cloud does not keep up. */
const MAX_WAITING = 1000;
/** Maximum number of calls of one queue in flight. */
const FULL_WIDTH = 4;
/** How long a refusal limits the number of calls. */
const REMEMBERED_MS = 60_000;

const INTERRUPTED = serviceUnavailable("the look-up was interrupted");
const TOO_MANY = serviceUnavailable("too many look-ups wait for the cloud");

/**
 * Look-ups that calls can answer together. A look-up begins at once when no call is in flight. Those that arrive
 * meanwhile share the next call; a further call begins beside it when there are enough of them to fill it.
 */
export class CallQueue<T> {
  readonly #maxItems: number;
  readonly #clock: () => Ms;
  /** By item, in the order of arrival: an item is looked up once for all requests. */
  readonly #waiting = new Map<string, Waiter<T>[]>();
  /** The same for items whose call is in flight. */
  readonly #inFlight = new Map<string, Waiter<T>[]>();
  #waiters = 0;
  #calls = 0;
  /** How many calls may be in flight: fewer after the cloud refused one because of overload. */
  #width = FULL_WIDTH;
  #refusals = 0;
  #refusedAt = Number.NEGATIVE_INFINITY;

  /** @param maxItems maximum number of items in a call. */
  constructor(maxItems: number, clock: () => Ms) {
    this.#maxItems = maxItems;
    this.#clock = clock;
  }

  ask(item: string, fetch: FetchItems<T>): Promise<Result<T | null>> {
    return new Promise((answer) => {
      const others = this.#inFlight.get(item);
      if (others) {
        others.push({ fetch, answer });
      } else if (this.#waiters >= MAX_WAITING) {
        answer(err(TOO_MANY));
      } else {
        this.#waiters++;
        this.#waiting.set(item, [...(this.#waiting.get(item) ?? []), { fetch, answer }]);
        this.#begin();
      }
    });
  }

  #begin(): void {
    while (this.#mayBegin()) void this.#call();
  }

  /** The only call may have any number of items. A call beside others must be full; else its items share the next. */
  #mayBegin(): boolean {
    const waiting = this.#waiting.size;
    if (waiting === 0 || this.#calls === 0) return waiting > 0;
    const limited = this.#clock() - this.#refusedAt < REMEMBERED_MS;
    return waiting >= this.#maxItems && this.#calls < (limited ? this.#width : FULL_WIDTH);
  }

  async #call(): Promise<void> {
    const refusals = this.#refusals;
    const batch = [...this.#waiting].slice(0, this.#maxItems);
    for (const [item, waiters] of batch) {
      this.#waiting.delete(item);
      this.#waiters -= waiters.length;
      this.#inFlight.set(item, waiters);
    }
    this.#calls++;
    const found = await fetchByOne(batch);
    this.#calls--;
    for (const [item, waiters] of batch) {
      this.#inFlight.delete(item);
      for (const { answer } of waiters) answer(partOf(found ?? err(INTERRUPTED), item));
    }
    if (found && !found.ok && found.error.code === "unavailable") this.#refuse(found);
    // A call that began before the last refusal says nothing about the time after it.
    else if (found && refusals === this.#refusals) this.#width = Math.min(FULL_WIDTH, this.#width + 1);
    this.#begin();
  }

  /** The cloud refused all retries: the waiting requests fail too, since another call would only add load. */
  #refuse(refusal: Result<never>): void {
    this.#width = 1;
    this.#refusals++;
    this.#refusedAt = this.#clock();
    const waiting = [...this.#waiting.values()].flat();
    this.#waiting.clear();
    this.#waiters = 0;
    for (const { answer } of waiting) answer(refusal);
  }
}

/**
 * Calls the fetch function of one waiter. If the waiter's client has disconnected, calls that of the next waiter: a
 * client must not be able to fail the look-ups of others. Returns null when all have disconnected.
 */
async function fetchByOne<T>(batch: readonly (readonly [item: string, waiters: Waiter<T>[]])[]) {
  const items = batch.map(([item]) => item);
  for (;;) {
    // Searched each time: others may have joined an item of the batch meanwhile.
    const waiters = batch.map(([, some]) => some).find((some) => some.length > 0);
    const [waiter] = waiters ?? [];
    if (!waiter) return null;
    try {
      return await waiter.fetch(items);
    } catch {
      // The client has gone, but its request to this object must end.
      waiters?.shift();
      waiter.answer(err(INTERRUPTED));
    }
  }
}

function partOf<T>(found: Result<Record<string, T>>, item: string): Result<T | null> {
  if (!found.ok) return found;
  return ok((Object.hasOwn(found.value, item) ? found.value[item] : null) ?? null);
}

type Found = VmInstance | IamPrincipal;

/** Queues of one object. It has as many as an account has regions and principals that log in at the same time. */
const MAX_QUEUES = 256;

/**
 * Lets the look-ups of one account share calls to the cloud. A Worker can't wait for a call that another request began,
 * so the requests wait here. The Workers make the calls: each passes a function, and one of them is called for the items of
 * all. The object has no credentials, calls no cloud and stores nothing.
 */
export class CloudLookups extends DurableObject {
  readonly #queues = new GenerationalCache<string, CallQueue<Found>>(MAX_QUEUES);

  /** Looks up `item`, or null. A call looks up at most `maxItems` of a group, which is the same for the whole group. */
  ask(group: string, item: string, maxItems: number, fetch: FetchItems<Found>): Promise<Result<Found | null>> {
    const queue = this.#queues.get(group) ?? new CallQueue<Found>(maxItems, currentTime);
    this.#queues.set(group, queue, 1);
    return queue.ask(item, fetch);
  }

  /** Answers that the object can be reached. See `stubWith`. */
  ping(): void {}
}

/** How the object is called in a cluster. */
const RULES = {
  repeated: ["ask"],
} as const;

/** Looks up an item of an account. Requests for equal and similar items share the call. See `CloudLookups.ask`. */
export async function sharedLookup(
  { env, revision, accountId, stsRole }: AccountClient,
  group: string,
  item: string,
  maxItems: number,
  fetch: FetchItems<Found>,
): Promise<Result<Found | null>> {
  const name = await hashOf(revision, accountId, stsRole?.arn ?? null, stsRole?.externalId ?? null);
  return objectNamed(env, env.CLOUD_LOOKUPS, name, RULES).ask(group, item, maxItems, fetch);
}
