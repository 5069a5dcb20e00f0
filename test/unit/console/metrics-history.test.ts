import { expect, it } from "vitest";
import { byUrgency } from "../../../console/health/check-urgency.ts";
import { dayPoints } from "../../../console/health/metrics-history.ts";

const START = Date.parse("2026-11-29T10:00:00Z");
const STEP = 300_000;

function slot(at: number, requests: number, more: Partial<{ within: number[]; tokens: number | null }> = {}) {
  return {
    ...{ time: new Date(START + at * STEP).toISOString(), requests, failures: 0, unavailable: 0, limited: 0 },
    ...{ logins_success: 0, logins_refused: 0, logins_failed: 0, tokens_swept: 0, within: [0, 0, 0] },
    ...{ tokens: null, leases: null },
    ...more,
  };
}
const pointsOf = (samples: ReturnType<typeof slot>[], now: number) =>
  dayPoints({ interval_seconds: 300, bounds: [0.01, 0.1], samples }, START + now);

it("the chart of a day has rates per second; the last slot is as long as it is so far", () => {
  const points = pointsOf([slot(0, 300), slot(1, 300)], STEP + 150_000);
  expect(points.rates(({ requests }) => requests)).toEqual([
    { at: START, value: 1 },
    { at: START + STEP, value: 2 },
  ]);
});

it("a time in which nobody reported is shown as nothing, and not bridged", () => {
  const points = pointsOf([slot(0, 300), slot(4, 600)], 9 * STEP);
  expect(points.rates(({ requests }) => requests).map(({ at, value }) => [(at - START) / STEP, value])).toEqual([
    [0, 1],
    [1, 0],
    [3, 0],
    [4, 2],
  ]);
});

it("latencies are of each slot alone, and numbers only where they were counted", () => {
  const points = pointsOf([slot(0, 10, { within: [5, 5, 0], tokens: 7 }), slot(1, 0)], 2 * STEP);
  const [first, second] = points.latencies(0.5);
  expect([first?.value, second?.value]).toEqual([10, null]);
  expect(points.counts(({ tokens }) => tokens)).toEqual([{ at: START, value: 7 }]);
});

it("the most urgent checks come first, those of one state in their order", () => {
  const states = ["ok", "unknown", "failing", "attention", "failing"].map((state, at) => ({ state, at }));
  expect(byUrgency(states).map(({ at }) => at)).toEqual([2, 4, 3, 1, 0]);
});
