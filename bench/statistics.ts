/** Median and range of several measurements. */
export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** The percentile at `share` (0 to 1) by nearest rank; 0 for no values. */
export function percentile(sorted: Float64Array, share: number): number {
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
}

/** The median; 0 for no values. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const upper = sorted[Math.floor(sorted.length / 2)] ?? 0;
  const lower = sorted[Math.ceil(sorted.length / 2) - 1] ?? 0;
  return (lower + upper) / 2;
}

/** Median, minimum and maximum. */
export function spread(values: readonly number[]): Spread {
  if (values.length === 0) return { median: 0, min: 0, max: 0 };
  return { median: median(values), min: Math.min(...values), max: Math.max(...values) };
}

/**
 * The ratio of two alternating measurements, computed for each round.
 * A temporary slowdown of the machine then affects both sides of a ratio.
 */
export function pairedRatio(values: readonly number[], references: readonly number[]): Spread {
  const ratios = values.flatMap((value, round) => {
    const reference = references[round];
    return reference ? [value / reference] : [];
  });
  return spread(ratios);
}
