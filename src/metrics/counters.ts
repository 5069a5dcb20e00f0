import type { Ms } from "../base/clock.ts";

/** Upper bounds of the latency buckets, in seconds. */
export const BUCKETS: readonly number[] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const BUCKETS_MS = BUCKETS.map((seconds) => seconds * 1000);

interface RequestKind {
  /** Path pattern of the endpoint, which contains no text of a client; "" when no endpoint serves the request. */
  readonly route: string;
  /** Path of the endpoint's mount, with a slash at the end; "" when no endpoint serves the request. */
  readonly mount: string;
  readonly operation: string;
  readonly status: number;
}

export interface RequestFigure extends RequestKind {
  count: number;
  sum: Ms;
  /** Answers in each latency bucket, not cumulative. The last bucket is for answers above all bounds. */
  readonly buckets: number[];
}

/** Maximum number of kinds of requests, which bounds the memory. Further kinds are not counted. */
const MAX_KINDS = 4000;

const figures = new Map<string, RequestFigure>();
let inFlight = 0;

/** Counts a request that arrived in this isolate. */
export function noteArrival(): void {
  inFlight++;
}

/** Counts an answered request. @param ms time from its arrival to its answer. */
export function noteAnswer(kind: RequestKind, ms: Ms): void {
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

/** Returns the counts of the requests that this isolate has answered, by kind. */
export function requestFigures(): readonly RequestFigure[] {
  return [...figures.values()];
}

/** Returns the number of requests that this isolate has not answered yet. */
export function requestsInFlight(): number {
  return inFlight;
}

/** Returns a data point for Analytics Engine. One is written for each answered request; the platform samples them. */
export function dataPoint({ route, mount, operation, status }: RequestKind, ms: Ms): AnalyticsEngineDataPoint {
  return { indexes: [route.slice(0, 96)], blobs: [route, mount, operation, String(status)], doubles: [ms] };
}

/** Events that code counts where they happen, with the names of their labels. */
const EVENTS = {
  cloud_call: ["service", "result"],
  login: ["mount", "role", "result"],
  // Without mount and role, so that it is exact when `login` has reached `MAX_SETS`.
  login_result: ["result"],
  tokens_swept: [],
  sweep: [],
  lease_revocation: ["result"],
  audit_record: ["result"],
  audit_waiting: [],
  audit_append_failure: [],
} as const;

type EventName = keyof typeof EVENTS;

/** Maximum number of sets of label values of one event. Operators can create any number of mounts and roles. */
const MAX_SETS = 1000;
const OTHER = "other";

const counts = new Map<EventName, Map<string, number>>();

/** Counts events in this isolate. @param values of the labels, in the order of their names. */
export function countEvent(event: EventName, values: readonly string[], times = 1): void {
  const sets = counts.get(event) ?? new Map<string, number>();
  counts.set(event, sets);
  const named = values.join("\n");
  const key = sets.has(named) || sets.size < MAX_SETS ? named : values.map(() => OTHER).join("\n");
  sets.set(key, (sets.get(key) ?? 0) + times);
}

/** Returns how often an event happened in this isolate, for each set of label values. */
export function eventFigures(event: EventName) {
  return [...(counts.get(event) ?? [])].map(([key, value]) => {
    const values = key.split("\n");
    return { labels: Object.fromEntries(EVENTS[event].map((name, at) => [name, values[at] ?? ""])), value };
  });
}
