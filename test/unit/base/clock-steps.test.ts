import { describe, expect, it } from "vitest";
import { CLOCK_STEP_MS, ClockSteps } from "../../../src/base/clock-steps.ts";

/** What the steps of a clock with these readings are counted as. */
function counted(readings: readonly number[]): number[] {
  const steps = new ClockSteps();
  return readings.map((now) => steps.countUntil(now));
}

describe("the steps of a clock", () => {
  it("are counted when it is set back by more than copies are waited for", () => {
    expect(counted([10_000, 10_000 - CLOCK_STEP_MS, 9_999 - CLOCK_STEP_MS, 9_500, 2_000])).toEqual([0, 0, 1, 1, 2]);
  });

  it("are compared with the highest reading, so that small ones add up", () => {
    expect(counted([10_000, 9_400, 8_900, 8_900])).toEqual([0, 0, 1, 1]);
  });

  it("are not counted when it is set forward", () => {
    expect(counted([10_000, 90_000, 90_001])).toEqual([0, 0, 0]);
  });
});
