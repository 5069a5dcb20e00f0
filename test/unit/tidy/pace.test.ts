import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { NETWORK, ONE_PROCESS } from "../../../src/app/deployments.ts";
import { pauseForShare } from "../../../src/tidy/shard-tidy.ts";

describe("the pause after a step", () => {
  it("leaves the rest of the time to others", () => {
    expect(pauseForShare(100, 0.05)).toBe(1_900);
    expect(pauseForShare(100, 0.0125)).toBe(7_900);
    expect(pauseForShare(100, 1)).toBe(25);
  });

  it("is never shorter than 25 ms, nor longer than a minute", () => {
    expect(pauseForShare(0, 0.05)).toBe(25);
    expect(pauseForShare(-5_000, 0.05)).toBe(25);
    expect(pauseForShare(30_000, 0.05)).toBe(60_000);
  });

  it("keeps work within its share, as long as a step is no longer than three seconds", () => {
    const steps = fc.array(fc.integer({ min: 0, max: 3_000 }), { minLength: 1 });
    fc.assert(
      fc.property(steps, fc.constantFrom(0.05, 0.1, 0.5), (all, share) => {
        const worked = all.reduce((sum, ms) => sum + ms, 0);
        const paused = all.reduce((sum, ms) => sum + pauseForShare(ms, share), 0);
        expect(worked).toBeLessThanOrEqual(share * (worked + paused) + 1e-6);
      }),
    );
  });

  it("shares a fifth of the one thread of a self-hosted server between all checks", () => {
    expect(16 * ONE_PROCESS.shareOfCheck(16)).toBeCloseTo(0.2);
    expect(NETWORK.shareOfCheck(16)).toBe(0.05);
  });
});
