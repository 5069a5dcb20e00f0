import { err, ok, type Result } from "../../../base/result.ts";
import { serviceUnavailable } from "../../send.ts";

/** Looks items up, in the Worker that passes it. What was not found is left out. */
export type FetchItems<T> = (items: string[]) => Promise<Result<Record<string, T>>>;

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
    while (mayBegin(this.#width, this.#calls, this.#waiting.size, this.#maxItems, this.#clock())) {
      void this.#call([...this.#waiting.keys()].slice(0, this.#maxItems));
    }
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
      this.#width = afterAnswer(this.#width, refusals);
      return;
    }
    this.#width = afterRefusal(this.#width, this.#clock());
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
  /** Refusals so far. A call that began before the last of them says nothing about the time after it. */
  readonly refusals: number;
  /** When the cloud last refused (ms); -Infinity for never. */
  readonly refusedAt: number;
}

/** The width of a group that was never refused. */
export const UNREFUSED: CallWidth = { calls: FULL_WIDTH, refusals: 0, refusedAt: Number.NEGATIVE_INFINITY };

/** After the cloud refused a call for overload at `now` (ms): one call at a time. */
function afterRefusal(width: CallWidth, now: number): CallWidth {
  return { calls: 1, refusals: width.refusals + 1, refusedAt: now };
}

/** After the cloud answered a call: one more, if the call began after the last refusal. @param refusals known when it began. */
function afterAnswer(width: CallWidth, refusals: number): CallWidth {
  if (refusals !== width.refusals) return width;
  return { ...width, calls: Math.min(FULL_WIDTH, width.calls + 1) };
}

/** True when the width is full: nothing about it has to be remembered. `now` in ms. */
export function isFull(width: CallWidth, now: number): boolean {
  return width.calls === FULL_WIDTH || now - width.refusedAt >= REMEMBERED_MS;
}

/**
 * Whether a further call may begin. One that is alone may always; one beside others only with as many items as a call takes:
 * the items would otherwise have gone together with the next call, and it costs the cloud nothing that they wait for it.
 *
 * @param underWay calls that are under way.
 * @param waiting items that wait, each counted once.
 * @param maxItems most items of a call.
 * @param now ms.
 */
function mayBegin(width: CallWidth, underWay: number, waiting: number, maxItems: number, now: number): boolean {
  if (waiting === 0 || underWay === 0) return waiting > 0;
  return waiting >= maxItems && underWay < (isFull(width, now) ? FULL_WIDTH : width.calls);
}
