/** The middle of several measurements and how far they spread. */
export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** The value that a share (0 to 1) of the sorted values does not exceed; 0 for no values. */
export function percentile(sorted: Float64Array, share: number): number {
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
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
