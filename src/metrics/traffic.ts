import type { Ms } from "../base/clock.ts";
import { BUCKETS, eventFigures, requestFigures } from "./counters.ts";

/** Counts of events in a period. */
export interface Traffic {
  readonly requests: number;
  /** Requests that ended in a fault (500). */
  readonly faults: number;
  /** Answers that asked the client to try again (503). */
  readonly unavailable: number;
  /** Requests that a quota refused (429). */
  readonly limited: number;
  readonly loginsGood: number;
  readonly loginsRefused: number;
  readonly loginsFailed: number;
  /** Dead tokens that were removed. */
  readonly swept: number;
  /** Requests in each bucket of `BUCKETS` by their time, not cumulative; the last one is for those above all bounds. */
  readonly within: readonly number[];
}

export const NO_TRAFFIC: Traffic = {
  requests: 0,
  faults: 0,
  unavailable: 0,
  limited: 0,
  loginsGood: 0,
  loginsRefused: 0,
  loginsFailed: 0,
  swept: 0,
  within: new Array<number>(BUCKETS.length + 1).fill(0),
};

/** Resolution of the traffic history. */
export const SLOT_MS: Ms = 300_000;

/** The start of the slot that a time belongs to. */
export function slotOf(time: Ms): Ms {
  return time - (time % SLOT_MS);
}

/** What this isolate has counted since it started. */
export function trafficSoFar(): Traffic {
  const figures = requestFigures();
  const answered = (...statuses: number[]) =>
    figures.reduce((sum, { status, count }) => (statuses.includes(status) ? sum + count : sum), 0);
  const logins = (result: string) =>
    eventFigures("login_result").reduce((sum, { labels, value }) => (labels.result === result ? sum + value : sum), 0);
  return {
    requests: figures.reduce((sum, { count }) => sum + count, 0),
    faults: answered(500),
    unavailable: answered(503),
    limited: answered(429),
    loginsGood: logins("success"),
    loginsRefused: logins("refused"),
    loginsFailed: logins("failed"),
    swept: eventFigures("tokens_swept").reduce((sum, { value }) => sum + value, 0),
    within: NO_TRAFFIC.within.map((_, at) => figures.reduce((sum, { buckets }) => sum + (buckets[at] ?? 0), 0)),
  };
}

export function addTraffic(one: Traffic, other: Traffic): Traffic {
  return combined(one, other, (a, b) => a + b);
}

/** What has happened since `before`, an earlier count of the same isolate. */
export function trafficSince(now: Traffic, before: Traffic): Traffic {
  return combined(now, before, (a, b) => a - b);
}

function combined(one: Traffic, other: Traffic, of: (a: number, b: number) => number): Traffic {
  return {
    requests: of(one.requests, other.requests),
    faults: of(one.faults, other.faults),
    unavailable: of(one.unavailable, other.unavailable),
    limited: of(one.limited, other.limited),
    loginsGood: of(one.loginsGood, other.loginsGood),
    loginsRefused: of(one.loginsRefused, other.loginsRefused),
    loginsFailed: of(one.loginsFailed, other.loginsFailed),
    swept: of(one.swept, other.swept),
    within: one.within.map((count, at) => of(count, other.within[at] ?? 0)),
  };
}
