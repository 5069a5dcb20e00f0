import { waitUntil } from "cloudflare:workers";
import { currentTime, inTime, isWithin } from "../base/clock.ts";
import { MAX_UPDATE_DELAY_MS } from "../base/isolate-copy.ts";
import type { AnswersOfSource, CopyUse, UsedCopy } from "./copy-age.ts";

/** Interval (ms) between two log lines about an object that does not answer. */
const TROUBLE_LOG_MS = 5_000;

/** Sources that do not answer, with the ages of the copies that this isolate still uses. */
const failing = new Map<CopySource, UsedCopy>();

/** An object that this isolate has a copy of, with the state of its recent readings. */
export class CopySource implements AnswersOfSource {
  readonly #name: string;
  readonly #fields: Readonly<Record<string, string>>;
  /** See `AnswersOfSource`. */
  renewalBegan = Number.NEGATIVE_INFINITY;
  /** See `AnswersOfSource`. */
  troubleAt = Number.NEGATIVE_INFINITY;
  /** Begin of the current outage and time of its last log line (ms); null while the object answers. */
  #trouble: { readonly since: number; loggedAt: number } | null = null;

  /**
   * @param name prefix of the types of its log lines: `<name>_unavailable` and `<name>_available`.
   * @param fields additional fields of these lines.
   */
  constructor(name: string, fields: Readonly<Record<string, string>> = {}) {
    this.#name = name;
    this.#fields = fields;
  }

  /** Returns the value of the copy (`has`) or the result of `read`, as `use` says. */
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

  /** Reads the source again. Returns null when the reading fails or is late. A late one continues in the background. */
  async #tryToRead<T>(copy: UsedCopy, read: () => Promise<T>): Promise<T | null> {
    this.renewalBegan = currentTime();
    const reading = read();
    // The reading may end after the request that began it, as the answer of the request does not wait for it.
    waitUntil(reading.catch(() => null));
    try {
      return await inTime(reading, MAX_UPDATE_DELAY_MS);
    } catch (error) {
      this.#noteTrouble(error, copy, currentTime());
      return null;
    }
  }

  /** Records that the source answered at `now` (ms), and logs the end of an outage. */
  noteAnswer(now: number): void {
    if (this.#trouble) {
      const seconds = Math.round((now - this.#trouble.since) / 1000);
      console.log(JSON.stringify({ type: `${this.#name}_available`, ...this.#fields, after_seconds: seconds }));
    }
    this.#trouble = null;
    this.troubleAt = Number.NEGATIVE_INFINITY;
    failing.delete(this);
  }

  #noteTrouble(error: unknown, copy: UsedCopy, now: number): void {
    this.troubleAt = now;
    failing.set(this, copy);
    this.#trouble ??= { since: now, loggedAt: Number.NEGATIVE_INFINITY };
    if (isWithin(this.#trouble.loggedAt, TROUBLE_LOG_MS, now)) return;
    this.#trouble.loggedAt = now;
    const age = Math.round((now - copy.checkedAt) / 1000);
    const type = `${this.#name}_unavailable`;
    console.error(JSON.stringify({ type, ...this.#fields, error: String(error), copy_age_seconds: age }));
  }
}

/** Age (ms) of the oldest copy in use beyond its maximum age, because its object does not answer; null: none is. */
export function staleCopyAgeMs(now: number): number | null {
  let oldest: number | null = null;
  for (const [source, { checkedAt, maxAgeMs, graceMs }] of failing) {
    // No request uses a copy beyond its grace time.
    if (!isWithin(checkedAt, maxAgeMs + graceMs, now)) failing.delete(source);
    else if (!isWithin(checkedAt, maxAgeMs, now)) oldest = Math.max(oldest ?? 0, now - checkedAt);
  }
  return oldest;
}
