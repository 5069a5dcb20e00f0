import type { Ms } from "../../base/clock.ts";
import { MAX_BATCH_USES, type UseCount } from "../entry.ts";

export const HOUR_MS: Ms = 3_600_000;
/** Maximum number of counters that wait: one batch takes them all. A use that would need one more is not counted. */
export const MAX_COUNTERS = MAX_BATCH_USES;
/** Number of waiting counters with which they are sent early. */
export const MANY_COUNTERS = 512;

/** The beginning of the hour of a time. */
export function hourOf(now: Ms): Ms {
  return now - (now % HOUR_MS);
}

/** Uses of tokens that are not sent yet, as counters by token, address and hour. Bounded. */
export class UseCounts {
  #counters = new Map<string, { -readonly [name in keyof UseCount]: UseCount[name] }>();

  get size(): number {
    return this.#counters.size;
  }

  /** Counts a use. @param accessor that of the token, or its keyed hash. Returns false when there is no room. */
  add(accessor: string, address: string, now: Ms): boolean {
    const hour = hourOf(now);
    const key = `${accessor}\n${hour}\n${address}`;
    const known = this.#counters.get(key);
    if (known) {
      known.count++;
      known.first = Math.min(known.first, now);
      known.last = Math.max(known.last, now);
      return true;
    }
    if (this.#counters.size >= MAX_COUNTERS) return false;
    this.#counters.set(key, { accessor, address, hour, count: 1, first: now, last: now });
    return true;
  }

  /** Removes all counters, for a batch, and returns them. */
  take(): readonly UseCount[] {
    const all = [...this.#counters.values()];
    this.#counters = new Map();
    return all;
  }
}
