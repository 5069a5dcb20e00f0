import { currentTime, isWithin, type Ms } from "./clock.ts";
import type { AgedCopy, CopyOwner } from "./copies.ts";

/** Interval between two log lines about an object that does not answer. */
const TROUBLE_LOG_MS = 5_000;

/** Owners that do not answer, with the ages of the copies that this isolate still uses. */
const failing = new Map<LoggedOwner, AgedCopy>();

/** An object that this isolate has copies of. Its outages are logged. */
export class LoggedOwner implements CopyOwner {
  readonly #name: string;
  readonly #fields: Readonly<Record<string, string>>;
  renewalBegan = Number.NEGATIVE_INFINITY;
  /** Begin of the current outage, its last failure and its last log line; null while the object answers. */
  #trouble: { readonly since: Ms; at: Ms; loggedAt: Ms } | null = null;

  /**
   * @param name prefix of the types of its log lines: `<name>_unavailable` and `<name>_available`.
   * @param fields additional fields of these lines.
   */
  constructor(name: string, fields: Readonly<Record<string, string>> = {}) {
    this.#name = name;
    this.#fields = fields;
  }

  get troubleAt(): Ms {
    return this.#trouble?.at ?? Number.NEGATIVE_INFINITY;
  }

  noteAnswer(now: Ms): void {
    if (!this.#trouble) return;
    const seconds = Math.round((now - this.#trouble.since) / 1000);
    console.log(JSON.stringify({ type: `${this.#name}_available`, ...this.#fields, after_seconds: seconds }));
    this.#trouble = null;
    failing.delete(this);
  }

  noteTrouble(error: unknown, copy: AgedCopy): void {
    const now = currentTime();
    failing.set(this, copy);
    this.renewalBegan = now;
    this.#trouble ??= { since: now, at: now, loggedAt: Number.NEGATIVE_INFINITY };
    this.#trouble.at = now;
    if (isWithin(this.#trouble.loggedAt, TROUBLE_LOG_MS, now)) return;
    this.#trouble.loggedAt = now;
    const age = Math.round((now - copy.readAt) / 1000);
    const type = `${this.#name}_unavailable`;
    console.error(JSON.stringify({ type, ...this.#fields, error: String(error), copy_age_seconds: age }));
  }
}

/** Age of the oldest copy that is used beyond its maximum age because its owner does not answer; null without one. */
export function staleCopyAgeMs(now: Ms): Ms | null {
  let oldest: Ms | null = null;
  for (const [owner, { readAt, maxAgeMs, graceMs }] of failing) {
    // No request uses a copy beyond its grace time.
    if (!isWithin(readAt, maxAgeMs + graceMs, now)) failing.delete(owner);
    else if (!isWithin(readAt, maxAgeMs, now)) oldest = Math.max(oldest ?? 0, now - readAt);
  }
  return oldest;
}
