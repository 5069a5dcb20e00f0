/** Milliseconds: a Unix time or a duration. The tag is optional, so that plain numbers can be assigned. */
export type Ms = number & { readonly unit?: "ms" };

/** Seconds: a Unix time or a duration. `Ms` and `Seconds` can't be assigned to each other. */
export type Seconds = number & { readonly unit?: "s" };

/** The only place that reads the clock: rules take `now` as an argument. */
export function currentTime(): Ms {
  return Date.now();
}

/** True when `now` is less than `ms` after `since`. False also after the clock went back: the age is unknown. */
export function isWithin(since: Ms, ms: Ms, now: Ms): boolean {
  return now >= since && now - since < ms;
}

/** The earliest of some times; null when there is none. */
export function earliest(...times: readonly (Ms | null)[]): Ms | null {
  const known = times.filter((time) => time !== null);
  return known.length === 0 ? null : Math.min(...known);
}

export function sleep(ms: Ms): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** The result of `orLate` when the answer takes too long. */
export const LATE = Symbol("late");

/** Resolves or rejects as `asked`. After `ms` it resolves to `LATE`: `asked` goes on and its outcome is ignored. */
export async function orLate<T>(asked: Promise<T>, ms: Ms): Promise<T | typeof LATE> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<typeof LATE>((resolve) => {
    timer = setTimeout(resolve, ms, LATE);
  });
  try {
    return await Promise.race([asked, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Resolves or rejects as `asked`. Rejects when `asked` takes longer than `ms`. */
export async function inTime<T>(asked: Promise<T>, ms: Ms): Promise<T> {
  const answer = await orLate(asked, ms);
  if (answer === LATE) throw new Error(`no answer in ${ms} ms`);
  return answer;
}

const RFC3339 = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/;

/**
 * Reads an RFC 3339 time; null when it is malformed or names a day or hour that does not exist.
 * @returns the time; digits below a millisecond are cut off
 */
export function parseRfc3339(text: string): Ms | null {
  const match = RFC3339.exec(text);
  if (match === null) return null;
  const [, date, clock, fraction = "", offset = "Z"] = match;
  const local = `${date}T${clock}`;
  const localMs = Date.parse(`${local}Z`);
  if (Number.isNaN(localMs) || new Date(localMs).toISOString().slice(0, local.length) !== local) return null;
  const time = Date.parse(`${local}${fraction.slice(0, 4)}${offset}`);
  return Number.isNaN(time) ? null : time;
}

const SECONDS = /^\d{1,11}$/;

/** Reads a moment that is RFC 3339, or seconds since 1970. @returns null when the text is neither. */
export function parseAbsoluteTime(text: string): Ms | null {
  return SECONDS.test(text) ? Number(text) * 1000 : parseRfc3339(text.toUpperCase());
}

/** The RFC 3339 form of a time, in UTC with milliseconds. */
export function formatRfc3339(ms: Ms): string {
  return new Date(ms).toISOString();
}

/** `formatRfc3339`; null for null. */
export function formatTime(ms: Ms | null): string | null {
  return ms === null ? null : formatRfc3339(ms);
}

/** A timer that is overdue by this time was lost with the object that set it. */
const LOST_TIMER_MS = 1000;

/** The clock and the timers of the runtime. */
const RUNTIME = { now: currentTime, after: (ms: Ms, work: () => void): unknown => setTimeout(work, ms) };

/** One timer for several callers that schedule the same work. It runs once, at the earliest time that was requested. */
export class SoonestTimer {
  readonly #source: typeof RUNTIME;
  /** When the work is due; null: it is not scheduled. */
  #dueAt: Ms | null = null;

  constructor(source = RUNTIME) {
    this.#source = source;
  }

  /** Schedules `work` in `ms` at the latest. All callers must pass equivalent work, since only one of them is run. */
  in(ms: Ms, work: () => void): void {
    const now = this.#source.now();
    const at = now + ms;
    if (this.#dueAt !== null && this.#dueAt >= now - LOST_TIMER_MS && this.#dueAt <= at) return;
    this.#dueAt = at;
    this.#source.after(ms, () => {
      // A timer with an earlier time replaced this one.
      if (this.#dueAt !== at) return;
      this.#dueAt = null;
      work();
    });
  }
}
