import { currentTime, isWithin, sleep } from "../clock.ts";
import { pauseAfter, REQUESTS_COME_MS, wasBusy } from "./pace.ts";

/** A piece is over after this time (ms), whatever has become of the object that began it. */
const LONGEST_PIECE_MS = 1000;
/** Between two looks whether it is one's turn (ms). */
const LOOK_MS = 10;
/**
 * Trees that sweep by their own alarms at a time. They call each list together: the more of them, the less a tree costs, and the sooner
 * it is handed out again. Each is an object that stays awake.
 */
const MOST_SWEEPS = 32;
/** From the alarm of one tree that was put off to that of the next (ms): less than a sweep takes, or those that wait grow in number. */
const SLOT_MS = 10;
/** A sweep that has taken no step for so long (ms) has ended with its object. */
const LOST_SWEEP_MS = 60_000;

/**
 * Turns of sweeps that share a thread: one piece at a time, and after each a pause in which requests are served. So all sweeps
 * together take no more of the thread than one does.
 */
export class SweepTurns {
  /** Sweeps at work by tree, with the time of their last step (ms). */
  readonly #sweeps = new Map<string, number>();
  /** When the piece under way, or the pause after it, is over (ms). */
  #freeAt = 0;
  /** How long the thread was held since the last pause (ms). */
  #held = 0;
  /** True when the last pause ended so late that others had the thread. */
  #wasBusy = false;
  /** When the last request came (ms). */
  #requestAt = 0;
  /** The last moment that an alarm was put off to (ms). */
  #lastSlot = 0;
  /** When an alarm came last (ms). */
  #askedAt = 0;

  /** Does a piece of a sweep when it is its turn, and then lets others have the thread. */
  async piece<T>(work: () => T | Promise<T>): Promise<T> {
    for (let wait = this.#wait(); wait > 0; wait = this.#wait()) await sleep(Math.min(wait, LOOK_MS));
    const began = currentTime();
    this.#freeAt = began + LONGEST_PIECE_MS;
    try {
      return await work();
    } finally {
      await this.#rest(began, currentTime());
    }
  }

  /** A request has come: pieces are followed by longer pauses for some time. */
  requestCame(): void {
    this.#requestAt = currentTime();
  }

  /** Lets others have the thread, after `heldMs` of work that takes no turn. */
  async letOthers(heldMs: number): Promise<void> {
    await sleep(pauseAfter(heldMs, this.#isBusy));
  }

  /** A sweep of a tree takes a step. */
  began(tree: string): void {
    this.#sweeps.set(tree, currentTime());
  }

  /** It is over. */
  ended(tree: string): void {
    this.#sweeps.delete(tree);
  }

  /** When a tree whose alarm has come shall sweep (ms); null: now. Where many are due at once each gets a moment of its own. */
  putOffTo(): number | null {
    const now = currentTime();
    for (const [tree, at] of this.#sweeps) if (!isWithin(at, LOST_SWEEP_MS, now)) this.#sweeps.delete(tree);
    // A clock that went back must not put alarms off by that time.
    if (now < this.#askedAt) this.#lastSlot = now;
    this.#askedAt = now;
    if (this.#sweeps.size < MOST_SWEEPS) return null;
    this.#lastSlot = Math.max(this.#lastSlot, now) + SLOT_MS;
    return this.#lastSlot;
  }

  async #rest(began: number, ended: number): Promise<void> {
    this.#held += ended - began;
    const pause = pauseAfter(this.#held, this.#isBusy);
    this.#freeAt = ended + pause;
    if (pause === 0) return;
    this.#held = 0;
    await sleep(pause);
    this.#wasBusy = wasBusy(pause, currentTime() - ended);
  }

  /** True while others want the thread. */
  get #isBusy(): boolean {
    return this.#wasBusy || isWithin(this.#requestAt, REQUESTS_COME_MS, currentTime());
  }

  /** How long it is until the thread is free (ms). A clock that went back must not keep anybody waiting. */
  #wait(): number {
    const wait = this.#freeAt - currentTime();
    return wait > LONGEST_PIECE_MS ? 0 : wait;
  }
}
