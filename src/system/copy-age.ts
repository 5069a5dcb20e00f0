import { waitUntil } from "cloudflare:workers";
import { currentTime, inTime, isWithin } from "../base/clock.ts";
import { MAX_UPDATE_DELAY_MS, RENEWAL_SHARE } from "../base/isolate-copy.ts";
import type { SystemEnv } from "./env.ts";

/** Time (ms) after which another background reading begins: the last one may have ended with its request. */
const RENEWAL_MS = 500;
/** Time (ms) after a failed or slow reading during which no request waits for the System object. */
const TROUBLE_MS = 2_000;

export interface CopyLimits {
  /** POLICY_CACHE_SECONDS. */
  readonly maxAgeMs: number;
  /** POLICY_GRACE_SECONDS: additional age while its object does not answer. */
  readonly graceMs: number;
}

/** The age of a copy, with its limits. */
export interface UsedCopy extends CopyLimits {
  /** When it was last known to be current (ms). */
  readonly checkedAt: number;
}

/** The times of recent readings of the object that a copy comes from. */
export type AnswersOfSource = Pick<CopySource, "renewalBegan" | "troubleAt">;

/**
 * How a request uses its isolate's copy: `use` it; use it and read it again in the background (`renew`); read it again,
 * but use it if no answer comes in time (`try`); or read it again and fail without an answer (`wait`).
 */
export type CopyUse = "use" | "renew" | "try" | "wait";

/** Decides how a request at `now` (ms) uses a copy. */
export function useOfCopy(
  { checkedAt, maxAgeMs, graceMs }: UsedCopy,
  { renewalBegan, troubleAt }: AnswersOfSource,
  now: number,
): CopyUse {
  if (isWithin(checkedAt, maxAgeMs * RENEWAL_SHARE, now)) return "use";
  const renewed = isWithin(renewalBegan, RENEWAL_MS, now) ? "use" : "renew";
  if (isWithin(checkedAt, maxAgeMs, now)) return renewed;
  if (!isWithin(checkedAt, maxAgeMs + graceMs, now)) return "wait";
  return isWithin(troubleAt, TROUBLE_MS, now) ? renewed : "try";
}

/** Interval (ms) between two log lines about an object that does not answer. */
const TROUBLE_LOG_MS = 5_000;

/** Sources that do not answer, with the ages of the copies that this isolate still uses. */
const failing = new Map<CopySource, UsedCopy>();

/** An object that this isolate has a copy of, with the state of its recent readings. */
export class CopySource {
  readonly #name: string;
  readonly #fields: Readonly<Record<string, string>>;
  /** When a background reading last began (ms); -Infinity: never. */
  renewalBegan = Number.NEGATIVE_INFINITY;
  /** When a reading last failed or was late (ms); -Infinity: never, or the object has answered since. */
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

const DEFAULT_CACHE_SECONDS = 5;
const DEFAULT_GRACE_SECONDS = 60;
/** Longest duration of a request (ms). A request keeps the copy with which it began. */
const LONGEST_REQUEST_MS = 60_000;

/** Parsed settings. Cached, as an isolate has one environment and needs them several times per request. */
const limits = new WeakMap<SystemEnv, CopyLimits>();

/** Age limits of the copies of an isolate or an object: POLICY_CACHE_SECONDS and POLICY_GRACE_SECONDS. */
export function copyLimits(env: SystemEnv): CopyLimits {
  const known = limits.get(env);
  if (known) return known;
  const parsed: CopyLimits = {
    maxAgeMs: secondsAsMs(env.POLICY_CACHE_SECONDS, DEFAULT_CACHE_SECONDS),
    graceMs: secondsAsMs(env.POLICY_GRACE_SECONDS, DEFAULT_GRACE_SECONDS),
  };
  limits.set(env, parsed);
  return parsed;
}

/** Maximum age of a copy in an isolate or an object, in ms: POLICY_CACHE_SECONDS. */
export function maxCopyAgeMs(env: SystemEnv): number {
  return copyLimits(env).maxAgeMs;
}

function secondsAsMs(setting: string | undefined, otherwise: number): number {
  const seconds = Number(setting ?? otherwise);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : otherwise * 1000;
}

/** Time (ms) after a change of the installation during which a request may still act on the previous state. */
export function changeDelayMs(env: SystemEnv): number {
  const { maxAgeMs, graceMs } = copyLimits(env);
  return maxAgeMs + graceMs + LONGEST_REQUEST_MS;
}

/** Time (ms) after a deployment in which an object in use may run the previous release, without generations. */
const OLD_CODE_MS = 15 * 60_000;

/** Time (ms) from the scheduling of a generation of shards to its opening. By the opening all isolates know of it. */
export function listOpeningLeadMs(env: SystemEnv): number {
  return OLD_CODE_MS + changeDelayMs(env);
}
