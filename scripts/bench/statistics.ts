/** Each bucket of a histogram is this much wider than the one before: percentiles are exact to one in a hundred. */
const GROWTH = 1.01;
const LOG_GROWTH = Math.log(GROWTH);
/** The first bucket ends here (ms). */
const SMALLEST_MS = 0.001;

/** Times of many requests, in memory that does not grow with their number. */
export class Histogram {
  readonly #buckets: number[] = [];
  #count = 0;
  #sum = 0;
  #max = 0;

  /** Counts one time in ms. */
  record(ms: number): void {
    const bucket = ms <= SMALLEST_MS ? 0 : Math.ceil(Math.log(ms / SMALLEST_MS) / LOG_GROWTH);
    while (this.#buckets.length <= bucket) this.#buckets.push(0);
    this.#buckets[bucket] = (this.#buckets[bucket] ?? 0) + 1;
    this.#count++;
    this.#sum += ms;
    this.#max = Math.max(this.#max, ms);
  }

  get count(): number {
    return this.#count;
  }

  /** The time (ms) that `share` (0 to 1) of the requests did not exceed; 0 when there were none. */
  percentile(share: number): number {
    const rank = Math.max(1, Math.ceil(share * this.#count));
    let seen = 0;
    for (const [bucket, count] of this.#buckets.entries()) {
      seen += count;
      if (seen >= rank) return Math.min(this.#max, SMALLEST_MS * GROWTH ** bucket);
    }
    return 0;
  }

  /** What is reported of it. */
  summary(): LatencySummary {
    return {
      mean: this.#count === 0 ? 0 : this.#sum / this.#count,
      p50: this.percentile(0.5),
      p90: this.percentile(0.9),
      p99: this.percentile(0.99),
      max: this.#max,
    };
  }
}

/** Times in ms. */
export interface LatencySummary {
  readonly mean: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly max: number;
}

/** The middle of several measurements and how far they spread. */
export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** The middle value; of an even number the mean of the two in the middle. 0 for no values. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const upper = sorted[Math.floor(sorted.length / 2)] ?? 0;
  const lower = sorted[Math.ceil(sorted.length / 2) - 1] ?? 0;
  return (lower + upper) / 2;
}

/** Median, least and greatest of `values`. */
export function spread(values: readonly number[]): Spread {
  if (values.length === 0) return { median: 0, min: 0, max: 0 };
  return { median: median(values), min: Math.min(...values), max: Math.max(...values) };
}

/**
 * The ratio of two things that were measured in turns. Each round gives a ratio of its own, so that a machine that slows
 * down for a while slows both sides of the same ratio.
 */
export function pairedRatio(values: readonly number[], references: readonly number[]): Spread {
  const ratios = values.flatMap((value, round) => {
    const reference = references[round];
    return reference ? [value / reference] : [];
  });
  return spread(ratios);
}
