import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { median, pairedRatio, percentile, spread } from "../../../bench/statistics.ts";

describe("percentiles", () => {
  it("are values that were measured: so many are not above, and one less would be too few", () => {
    const times = fc.array(fc.double({ min: 0, max: 60_000, noNaN: true }), { minLength: 1, maxLength: 300 });
    fc.assert(
      fc.property(times, fc.constantFrom(0.5, 0.9, 0.99, 1), (values, share) => {
        const sorted = Float64Array.from(values).sort();
        const found = percentile(sorted, share);
        expect(sorted.filter((value) => value <= found).length).toBeGreaterThanOrEqual(share * sorted.length);
        expect(sorted.filter((value) => value < found).length).toBeLessThan(share * sorted.length);
      }),
    );
  });

  it("of nothing are 0", () => {
    expect(percentile(new Float64Array(), 0.5)).toBe(0);
  });
});

describe("median and spread", () => {
  it.each([
    [[], 0],
    [[7], 7],
    [[3, 1, 2], 2],
    [[4, 1, 2, 3], 2.5],
  ])("median of %j is %d", (values, expected) => {
    expect(median(values)).toBe(expected);
  });

  it("knows the smallest and the largest", () => {
    expect(spread([5, 1, 3])).toEqual({ median: 3, min: 1, max: 5 });
    expect(spread([])).toEqual({ median: 0, min: 0, max: 0 });
  });
});

describe("ratio of two sides measured in turns", () => {
  it("is taken round by round", () => {
    // The machine was half as fast in the second round; the ratio does not care.
    expect(pairedRatio([50, 25, 52], [100, 50, 100])).toEqual({ median: 0.5, min: 0.5, max: 0.52 });
  });

  it("leaves out a round without a reference", () => {
    expect(pairedRatio([50, 60], [100, 0])).toEqual({ median: 0.5, min: 0.5, max: 0.5 });
    expect(pairedRatio([50], [])).toEqual({ median: 0, min: 0, max: 0 });
  });
});
