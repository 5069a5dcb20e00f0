import { currentTime, isWithin, type Ms, sleep } from "./clock.ts";
import { logFailedWork } from "./log.ts";
import { inGroups, inPool, MAX_PARALLEL_CALLS } from "./parallel.ts";

/*
 * How a sweep shares its thread with requests. It works in pieces, one commit each, and pauses after each piece. During
 * a piece the runtime serves no request. Without a pause the runtime continues the sweep before it reads new requests.
 */

/** Target time of a piece, without its commit. It bounds how long a request waits for a sweep. */
const PIECE_MS = 3;
/** Bounds of the rows of a piece. Each piece is a commit: smaller ones would spend their time waiting for the disk. */
const MIN_ROWS = 100;
const MAX_ROWS = 400;
export const FIRST_PIECE = 200;

/** No pause follows while the thread was held for less than this. */
const SHORT_MS = 2;
/** Pause while no other work needs the thread. */
const IDLE_PAUSE_MS = 1;
/** Lag at the end of a pause from which the thread counts as busy. */
const BUSY_LAG_MS = 2;
/** Time after a request in which the thread counts as busy. */
const REQUESTS_COME_MS = 100;
/** Length of a pause beside other work, as a multiple of the time held: a sweep takes a third of the thread. */
const BUSY_PAUSES = 2;
/** Longest pause. On a slow machine a sweep takes more than a third: it must end some time. */
const MAX_PAUSE_MS = 10;

/** Rows of the next piece, after one of `rows` rows that held the thread for `ms`. */
export function rowsOfNextPiece(rows: number, ms: Ms): number {
  if (ms > 2 * PIECE_MS) return Math.max(MIN_ROWS, Math.floor(rows / 2));
  return ms < PIECE_MS ? Math.min(MAX_ROWS, Math.floor(rows * 1.5)) : rows;
}

/** Length of the pause after the thread was held for `heldMs`; 0 after a few rows, as most trees have. */
export function pauseAfter(heldMs: Ms, busy: boolean): Ms {
  if (heldMs < SHORT_MS) return 0;
  return busy ? Math.min(MAX_PAUSE_MS, heldMs * BUSY_PAUSES) : IDLE_PAUSE_MS;
}

/** True when other work held the thread during a pause: it was to take `askedMs`, and took `tookMs`. */
export function wasBusy(askedMs: Ms, tookMs: Ms): boolean {
  return tookMs - askedMs >= BUSY_LAG_MS;
}

/** Longest time of a piece. After it the next piece begins, because the object of the last piece may be gone. */
const LONGEST_PIECE_MS = 1000;
/** Interval at which a piece that waits checks whether the thread is free. */
const POLL_MS = 10;
/**
 * Trees that sweep by their own alarms at a time. They call each shard of the list together: more trees make each call
 * cheaper, and free the trees sooner. Each of them is an object in memory.
 */
const MOST_SWEEPS = 32;
/** Interval between two postponed alarms: shorter than a sweep, else the number of waiting trees would grow. */
const SLOT_MS = 10;
/** A sweep without a step for this long counts as lost: its object is gone. */
const LOST_SWEEP_MS = 60_000;

/**
 * Turns of the sweeps that share a thread. One piece runs at a time, and a pause for requests follows it. So all sweeps
 * together take no more of the thread than one sweep does.
 */
export class SweepTurns {
  /** Time of the last step of each running sweep, by tree. */
  readonly #sweeps = new Map<string, Ms>();
  /** When the next piece may begin: the latest end of the current one, or the end of the pause after it. */
  #freeAt: Ms = 0;
  /** Time for which the thread was held since the last pause. */
  #held: Ms = 0;
  /** True when other work held the thread during the last pause. */
  #wasBusy = false;
  #requestAt: Ms = 0;
  /** Time of the latest postponed alarm. */
  #lastSlot: Ms = 0;
  /** Time of the last call of `putOffTo`. */
  #askedAt: Ms = 0;

  /** Waits for its turn, does a piece of a sweep, and pauses so that other work gets the thread. */
  async piece<T>(work: () => T | Promise<T>): Promise<T> {
    for (let wait = this.#wait(); wait > 0; wait = this.#wait()) await sleep(Math.min(wait, POLL_MS));
    const began = currentTime();
    this.#freeAt = began + LONGEST_PIECE_MS;
    try {
      return await work();
    } finally {
      await this.#rest(began, currentTime());
    }
  }

  /** Notes a request: pauses are longer, and pieces smaller, for `REQUESTS_COME_MS`. */
  requestCame(): void {
    this.#requestAt = currentTime();
  }

  /** Pauses after work outside of a turn that held the thread for `heldMs`. */
  async letOthers(heldMs: Ms): Promise<void> {
    await sleep(pauseAfter(heldMs, this.isBusy));
  }

  /** Notes that the sweep of a tree begins a step. */
  began(tree: string): void {
    this.#sweeps.set(tree, currentTime());
  }

  ended(tree: string): void {
    this.#sweeps.delete(tree);
  }

  /** Time to which a tree postpones its due sweep; null: it sweeps now. Postponed trees get times `SLOT_MS` apart. */
  putOffTo(): Ms | null {
    const now = currentTime();
    for (const [tree, at] of this.#sweeps) if (!isWithin(at, LOST_SWEEP_MS, now)) this.#sweeps.delete(tree);
    // A clock that went back must not put alarms off by that time.
    if (now < this.#askedAt) this.#lastSlot = now;
    this.#askedAt = now;
    if (this.#sweeps.size < MOST_SWEEPS) return null;
    this.#lastSlot = Math.max(this.#lastSlot, now) + SLOT_MS;
    return this.#lastSlot;
  }

  async #rest(began: Ms, ended: Ms): Promise<void> {
    this.#held += ended - began;
    const pause = pauseAfter(this.#held, this.isBusy);
    this.#freeAt = ended + pause;
    if (pause === 0) return;
    this.#held = 0;
    await sleep(pause);
    this.#wasBusy = wasBusy(pause, currentTime() - ended);
  }

  /** True while requests arrive, or other work needs the thread. */
  get isBusy(): boolean {
    return this.#wasBusy || isWithin(this.#requestAt, REQUESTS_COME_MS, currentTime());
  }

  /** Time until the thread is free. A clock that went back must not block the sweeps. */
  #wait(): Ms {
    const wait = this.#freeAt - currentTime();
    return wait > LONGEST_PIECE_MS ? 0 : wait;
  }
}

/** Trees that are marked, and then swept together. Each shard of the list gets one call for all of them. */
const TREES_TOGETHER = 24;
/** Groups of trees at work at a time: one is marked while another is swept. */
const PARTS_AT_ONCE = 2;

/** The two parts of the clean-up of one tree, in their order. */
export interface CleanUp<T, R> {
  /** Marks dead tokens. Safe to repeat. */
  readonly mark: (item: T) => Promise<R>;
  /** Waits until the tree has swept the marked tokens. A failure is logged: the alarm of the tree sweeps again. */
  readonly sweep: (item: T, marked: R) => Promise<void>;
  /** True when marking waits for a server outside of Grove. Such a wait must not hold a turn. */
  readonly waitsElsewhere?: boolean;
}

/** How clean-ups share threads with requests in this deployment. */
export interface SweepPace {
  /** True when the removals of all sweeps are collected, and sent in turns. */
  readonly collectsRemovals: boolean;
  /** Tokens that a step of tidy checks in a tree. */
  readonly tidyTokens: number;
  requestCame(): void;
  /** The turns in which a tree sweeps. */
  turns(): SweepTurns;
  /**
   * Marks dead tokens in many trees, and waits until they are swept. Only a few trees sweep at a time, however many
   * there are. Results in the order of `items`.
   */
  cleanUpTrees<T, R>(items: readonly T[], work: CleanUp<T, R>): Promise<R[]>;
  /** Calls many objects. Answers in the order of `items`. */
  askApart<T, R>(items: readonly T[], ask: (item: T) => Promise<R>): Promise<R[]>;
}

/** On the network each object has a thread. */
export const OWN_THREADS: SweepPace = {
  collectsRemovals: false,
  // A step is large, because each calls all shards of the list.
  tidyTokens: 200,
  requestCame: () => {},
  turns: () => new SweepTurns(),
  cleanUpTrees: (items, work) =>
    inPool(items, MAX_PARALLEL_CALLS, async (item) => {
      const marked = await work.mark(item);
      await sweep(work, item, marked);
      return marked;
    }),
  askApart: inGroups,
};

/** All objects and all requests have the same thread, as in one process. */
export class SharedThread implements SweepPace {
  readonly collectsRemovals = true;
  /** A step is small, because requests wait for its end: some ms. */
  readonly tidyTokens = 50;
  readonly #turns = new SweepTurns();

  requestCame(): void {
    this.#turns.requestCame();
  }

  turns(): SweepTurns {
    return this.#turns;
  }

  /** Marking takes turns with the pieces of sweeps. */
  cleanUpTrees<T, R>(items: readonly T[], work: CleanUp<T, R>): Promise<R[]> {
    return work.waitsElsewhere ? OWN_THREADS.cleanUpTrees(items, work) : inTurns(items, work, this.#turns);
  }

  /**
   * Calls one object at a time and pauses after each, so that requests are served: several objects that wake together
   * hold the thread for a tenth of a second. The call itself takes no turn: a tree may sweep before it answers, and
   * that sweep would wait for the same turn.
   */
  async askApart<T, R>(items: readonly T[], ask: (item: T) => Promise<R>): Promise<R[]> {
    const answers: R[] = [];
    for (const item of items) {
      const began = currentTime();
      answers.push(await ask(item));
      await this.#turns.letOthers(currentTime() - began);
    }
    return answers;
  }
}

async function inTurns<T, R>(items: readonly T[], work: CleanUp<T, R>, turns: SweepTurns): Promise<R[]> {
  const done = await inPool(partsOf(items, TREES_TOGETHER), PARTS_AT_ONCE, async (part) => {
    const marked: { item: T; of: R }[] = [];
    // One tree in a turn: waking an object and marking its dead tokens hold the thread for some ms.
    for (const item of part) marked.push({ item, of: await turns.piece(() => work.mark(item)) });
    await Promise.all(marked.map(({ item, of }) => sweep(work, item, of)));
    return marked.map(({ of }) => of);
  });
  return done.flat();
}

function partsOf<T>(items: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, at) => items.slice(at * size, (at + 1) * size));
}

async function sweep<T, R>(work: CleanUp<T, R>, item: T, marked: R): Promise<void> {
  try {
    await work.sweep(item, marked);
  } catch (error) {
    logFailedWork("sweep", error);
  }
}
