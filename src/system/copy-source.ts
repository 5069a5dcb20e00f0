import { waitUntil } from "cloudflare:workers";
import { currentTime, inTime, isWithin } from "../base/clock.ts";
import { MAX_UPDATE_DELAY_MS } from "../base/isolate-copy.ts";
import type { AnswersOfSource, CopyUse, UsedCopy } from "./copy-age.ts";

/** From one line about an object that does not answer to the next. */
const TROUBLE_LOG_MS = 5_000;

/** Sources that do not answer, with the copies that this isolate goes on with. */
const failing = new Map<CopySource, UsedCopy>();

/** An object that this isolate has a copy of, and how it answered lately. */
export class CopySource implements AnswersOfSource {
  readonly #name: string;
  readonly #fields: Readonly<Record<string, string>>;
  #renewalBegan = Number.NEGATIVE_INFINITY;
  #troubleAt = Number.NEGATIVE_INFINITY;
  /** When it began not to answer, and when that was last written to the log (ms); null while it answers. */
  #trouble: { readonly since: number; loggedAt: number } | null = null;

  /**
   * @param name lines in the log are of the types `<name>_unavailable` and `<name>_available`.
   * @param fields that these lines have besides.
   */
  constructor(name: string, fields: Readonly<Record<string, string>> = {}) {
    this.#name = name;
    this.#fields = fields;
  }

  get renewalBegan(): number {
    return this.#renewalBegan;
  }

  get troubleAt(): number {
    return this.#troubleAt;
  }

  /** What a request gets that has a copy: what the copy `has`, or what `read` brings, as `use` says. */
  async serve<T>(use: CopyUse, copy: UsedCopy, has: T, read: () => Promise<T>): Promise<T> {
    switch (use) {
      case "use":
        return has;
      case "renew":
        waitUntil(this.#tryToRead(copy, read));
        return has;
      case "try":
        return (await this.#tryToRead(copy, read)) ?? has;
      case "wait":
        return read();
    }
  }

  /** Reads the source again. Returns null when there is no answer in time; the reading goes on then. */
  async #tryToRead<T>(copy: UsedCopy, read: () => Promise<T>): Promise<T | null> {
    this.#renewalBegan = currentTime();
    const reading = read();
    // It may end after the request that began it, whose answer does not wait for it.
    waitUntil(reading.catch(() => null));
    try {
      return await inTime(reading, MAX_UPDATE_DELAY_MS);
    } catch (error) {
      this.#noteTrouble(error, copy, currentTime());
      return null;
    }
  }

  /** Notes that the source answered. `now` in ms. */
  noteAnswer(now: number): void {
    if (this.#trouble) {
      const seconds = Math.round((now - this.#trouble.since) / 1000);
      console.log(JSON.stringify({ type: `${this.#name}_available`, ...this.#fields, after_seconds: seconds }));
    }
    this.#trouble = null;
    this.#troubleAt = Number.NEGATIVE_INFINITY;
    failing.delete(this);
  }

  #noteTrouble(error: unknown, copy: UsedCopy, now: number): void {
    this.#troubleAt = now;
    failing.set(this, copy);
    this.#trouble ??= { since: now, loggedAt: Number.NEGATIVE_INFINITY };
    if (isWithin(this.#trouble.loggedAt, TROUBLE_LOG_MS, now)) return;
    this.#trouble.loggedAt = now;
    const age = Math.round((now - copy.checkedAt) / 1000);
    const type = `${this.#name}_unavailable`;
    console.error(JSON.stringify({ type, ...this.#fields, error: String(error), copy_age_seconds: age }));
  }
}

/** How long ago (ms) the oldest copy that requests go on with was last known to be true, when that is longer than it may be; else null. */
export function staleCopyAgeMs(now: number): number | null {
  let oldest: number | null = null;
  for (const [source, { checkedAt, maxAgeMs, graceMs }] of failing) {
    // No request uses one that is older.
    if (!isWithin(checkedAt, maxAgeMs + graceMs, now)) failing.delete(source);
    else if (!isWithin(checkedAt, maxAgeMs, now)) oldest = Math.max(oldest ?? 0, now - checkedAt);
  }
  return oldest;
}
