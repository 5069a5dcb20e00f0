import { describe, expect, it } from "vitest";
import { ClockWatch } from "../../../../scripts/serve/cluster/clock-watch.ts";

/** What a watch says of a clock that is compared every 200 ms. @param aheadMs how far it is ahead each time. */
function watched(aheadMs: readonly number[]): number[] {
  const watch = new ClockWatch();
  return aheadMs.map((ahead, at) => watch.compare(1_000_000 + at * 200 + ahead, at * 200));
}

describe("the watch of a node's clock", () => {
  it("says by how much the clock was set back, once", () => {
    expect(watched([0, 0, -900, -900, -900])).toEqual([0, 0, 900, 0, 0]);
  });

  it("notices it after the clock was set forward, and the second time too", () => {
    expect(watched([0, 5_000, 0, 0, -600])).toEqual([0, 0, 5_000, 0, 600]);
  });

  it("adds up steps that are small by themselves", () => {
    expect(watched([0, -200, -400, -600]).at(-1)).toBeGreaterThan(590);
  });

  it("says nothing of small steps, of a clock that goes slower, or of one that is set forward", () => {
    expect(watched([0, -400, -400, 9_000])).toEqual([0, 0, 0, 0]);
    expect(watched(Array.from({ length: 5_000 }, (_, at) => at * -0.4)).every((ms) => ms === 0)).toBe(true);
  });
});
