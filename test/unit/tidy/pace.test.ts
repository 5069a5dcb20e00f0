import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { nextCheckAt, pauseAfter, shareOf } from "../../../src/tidy/pace.ts";

const HOUR_MS = 3_600_000;

describe("the pause after a step", () => {
  it("leaves the rest of the time to others", () => {
    expect(pauseAfter(100, 0.05)).toBe(1_900);
    expect(pauseAfter(100, 0.0125)).toBe(7_900);
    expect(pauseAfter(100, 1)).toBe(25);
  });

  it("is never shorter than 25 ms, nor longer than a minute", () => {
    expect(pauseAfter(0, 0.05)).toBe(25);
    expect(pauseAfter(-5_000, 0.05)).toBe(25);
    expect(pauseAfter(30_000, 0.05)).toBe(60_000);
  });

  it("keeps work within its share, as long as a step is no longer than three seconds", () => {
    const steps = fc.array(fc.integer({ min: 0, max: 3_000 }), { minLength: 1 });
    fc.assert(
      fc.property(steps, fc.constantFrom(0.05, 0.1, 0.5), (all, share) => {
        const worked = all.reduce((sum, ms) => sum + ms, 0);
        const paused = all.reduce((sum, ms) => sum + pauseAfter(ms, share), 0);
        expect(worked).toBeLessThanOrEqual(share * (worked + paused) + 1e-6);
      }),
    );
  });

  it("shares a fifth of the one thread of a self-hosted server between all checks", () => {
    expect(16 * shareOf(true, 16)).toBeCloseTo(0.2);
    expect(shareOf(false, 16)).toBe(0.05);
  });
});

describe("the next check", () => {
  it("begins an interval after the last one began, at once when that is over or there was none", () => {
    expect(nextCheckAt(1_000, HOUR_MS, 2_000)).toBe(1_000 + HOUR_MS);
    expect(nextCheckAt(1_000, HOUR_MS, 3 * HOUR_MS)).toBe(3 * HOUR_MS);
    expect(nextCheckAt(null, HOUR_MS, 2_000)).toBe(2_000);
  });

  it("waits for no more than an interval after the clock went back", () => {
    expect(nextCheckAt(10 * HOUR_MS, HOUR_MS, 2_000)).toBe(2_000 + HOUR_MS);
  });
});
