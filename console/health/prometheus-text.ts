import type { ChartPoint } from "../ui/chart-point.ts";
/** A metric with one set of labels. */
export interface Metric {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const LINE = /^([a-z_][a-z0-9_]*)(?:\{(.*)\})? (\S+)$/i;
const LABEL = /([a-z_]+)="((?:[^"\\]|\\.)*)"/gi;

/** Reads the text format of Prometheus. */
export function readMetrics(text: string): readonly Metric[] {
  return text.split("\n").flatMap((line) => {
    const [, name, labels = "", value] = LINE.exec(line) ?? [];
    if (name === undefined) return [];
    const pairs = [...labels.matchAll(LABEL)].map(([, label = "", of = ""]) => [label, of] as const);
    return [{ name, labels: Object.fromEntries(pairs), value: Number(value) }];
  });
}

const sumOf = (metrics: readonly Metric[], name: string): number =>
  metrics.reduce((sum, metric) => (metric.name === name ? sum + metric.value : sum), 0);

/** Sums of a counter by the value of a label. */
function sumsBy(metrics: readonly Metric[], name: string, label: string): ReadonlyMap<string, number> {
  const sums = new Map<string, number>();
  for (const { name: found, labels, value } of metrics) {
    const key = labels[label] ?? "";
    if (found === name) sums.set(key, (sums.get(key) ?? 0) + value);
  }
  return sums;
}

/** The figures of one moment. Counters begin with the start of the isolate that answered. */
export interface Sample {
  /** ms */
  readonly at: number;
  readonly requests: number;
  readonly failures: number;
  readonly limited: number;
  readonly swept: number;
  /** Trees with a running sweep. */
  readonly sweeping: number;
  readonly logins: ReadonlyMap<string, number>;
  /** Number of requests by the upper bound of their time (s). */
  readonly within: ReadonlyMap<string, number>;
  /** Seconds; null when no metric has it. */
  readonly snapshotAge: number | null;
  readonly tidyAge: number | null;
  readonly tokens: number;
  readonly leases: number;
}

export function sampleOf(metrics: readonly Metric[], at: number): Sample {
  const found = (name: string): number | null => metrics.find((metric) => metric.name === name)?.value ?? null;
  return {
    at,
    requests: sumOf(metrics, "grove_http_request_duration_seconds_count"),
    failures: sumOf(metrics, "grove_http_failures_total"),
    limited: sumOf(metrics, "grove_rate_limited_total"),
    swept: sumOf(metrics, "grove_tokens_swept_total"),
    sweeping: sumOf(metrics, "grove_sweeps_running"),
    logins: sumsBy(metrics, "grove_logins_total", "result"),
    within: sumsBy(metrics, "grove_http_request_duration_seconds_bucket", "le"),
    snapshotAge: found("grove_snapshot_age_seconds"),
    tidyAge: found("grove_tidy_age_seconds"),
    tokens: found("vault_token_count") ?? 0,
    leases: found("vault_expire_num_leases") ?? 0,
  };
}

/**
 * The rate of a counter per second between consecutive samples. A counter that fell comes from another or a restarted
 * isolate, so its rate is null.
 */
export function ratesOf(samples: readonly Sample[], countOf: (sample: Sample) => number): readonly ChartPoint[] {
  return samples.slice(1).map((sample, before) => {
    const earlier = samples[before] ?? sample;
    const grown = countOf(sample) - countOf(earlier);
    const seconds = (sample.at - earlier.at) / 1000;
    return { at: sample.at, value: grown < 0 || seconds <= 0 ? null : grown / seconds };
  });
}

/** The latency (ms) that `share` of the requests of each interval did not exceed, linear within a bucket. */
export function latenciesOf(samples: readonly Sample[], share: number): readonly ChartPoint[] {
  return samples.slice(1).map((sample, before) => {
    const earlier = samples[before] ?? sample;
    const grown = [...sample.within]
      .map(
        ([bound, count]) =>
          [
            bound === "+Inf" ? Number.POSITIVE_INFINITY : Number(bound),
            count - (earlier.within.get(bound) ?? 0),
          ] as const,
      )
      .sort(([a], [b]) => a - b);
    const all = grown.at(-1)?.[1] ?? 0;
    if (all <= 0 || grown.some(([, count]) => count < 0)) return { at: sample.at, value: null };
    return { at: sample.at, value: 1000 * quantileOf(grown, share * all) };
  });
}

/** The value that `wanted` items of cumulative buckets do not exceed, linear within a bucket. */
export function quantileOf(buckets: readonly (readonly [bound: number, count: number])[], wanted: number): number {
  let lower = 0;
  let below = 0;
  for (const [bound, count] of buckets) {
    if (count >= wanted) {
      if (bound === Number.POSITIVE_INFINITY) return lower;
      return lower + ((bound - lower) * (wanted - below)) / Math.max(1, count - below);
    }
    lower = bound;
    below = count;
  }
  return lower;
}
