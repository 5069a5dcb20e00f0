import { expect, it } from "vitest";
import { countEvent, noteAnswer, noteArrival } from "../../../src/metrics/counters.ts";
import { addTraffic, NO_TRAFFIC, slotOf, trafficSince, trafficSoFar } from "../../../src/metrics/traffic.ts";

function answer(status: number, ms: number): void {
  noteArrival();
  noteAnswer({ route: "sys/traffic-test", mount: "sys/", operation: "read", status }, ms);
}

it("what an isolate counted since an earlier count is the difference, by status, result and time", () => {
  const before = trafficSoFar();
  answer(200, 0.5);
  answer(200, 40);
  answer(429, 0.5);
  answer(500, 60_000);
  answer(503, 3);
  countEvent("login_result", ["success"]);
  countEvent("login_result", ["refused"], 2);
  countEvent("tokens_swept", [], 7);
  const since = trafficSince(trafficSoFar(), before);
  expect(since).toMatchObject({ requests: 5, faults: 1, unavailable: 1, limited: 1 });
  expect(since).toMatchObject({ loginsGood: 1, loginsRefused: 2, loginsFailed: 0, swept: 7 });
  expect(since.within).toEqual([2, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1]);
  expect(addTraffic(before, since)).toEqual(trafficSoFar());
  expect(addTraffic(NO_TRAFFIC, since)).toEqual(since);
});

it("a slot is five minutes long", () => {
  expect([0, 299_999, 300_000].map(slotOf)).toEqual([0, 0, 300_000]);
});
