/** Upper ends of the buckets of latencies, in seconds. */
export const BUCKETS: readonly number[] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const BUCKETS_MS = BUCKETS.map((seconds) => seconds * 1000);

/** What requests are counted by. */
export interface RequestKind {
  /** The path of the endpoint with the names of its parameters: it holds nothing that a client chose. "" where none serves it. */
  readonly route: string;
  /** Path of the mount that it belongs to, with a slash at the end; "" where none serves it. */
  readonly mount: string;
  readonly operation: string;
  readonly status: number;
}

/** The answered requests of one kind. */
export interface RequestFigure extends RequestKind {
  count: number;
  /** ms. */
  sum: number;
  /** Answers in each bucket of latency, not cumulative. The last bucket has those that took longer. */
  readonly buckets: number[];
}

/** Kinds that are counted by themselves. Endpoints, mounts and statuses are few; this only bounds the memory. */
const MAX_KINDS = 4000;

const figures = new Map<string, RequestFigure>();
let inFlight = 0;

/** Notes that a request arrived in this isolate. */
export function noteArrival(): void {
  inFlight++;
}

/** Counts a request that is answered. `ms` from its arrival to its answer. */
export function noteAnswer(kind: RequestKind, ms: number): void {
  inFlight--;
  const key = `${kind.route}\n${kind.operation}\n${kind.status}`;
  let figure = figures.get(key);
  if (!figure) {
    if (figures.size >= MAX_KINDS) return;
    figure = { ...kind, count: 0, sum: 0, buckets: new Array<number>(BUCKETS.length + 1).fill(0) };
    figures.set(key, figure);
  }
  figure.count++;
  figure.sum += ms;
  let bucket = 0;
  while (bucket < BUCKETS_MS.length && ms > (BUCKETS_MS[bucket] ?? 0)) bucket++;
  figure.buckets[bucket] = (figure.buckets[bucket] ?? 0) + 1;
}

/** The requests that this isolate has answered, by kind. */
export function requestFigures(): readonly RequestFigure[] {
  return [...figures.values()];
}

/** The requests that this isolate has not answered yet. */
export function requestsInFlight(): number {
  return inFlight;
}

/** A point for Analytics Engine: one for each answered request, sampled by the platform when there are many. */
export function dataPoint({ route, mount, operation, status }: RequestKind, ms: number): AnalyticsEngineDataPoint {
  return { indexes: [route.slice(0, 96)], blobs: [route, mount, operation, String(status)], doubles: [ms] };
}
