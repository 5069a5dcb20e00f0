import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Histogram, median, pairedRatio, spread } from "../../../scripts/bench/statistics.ts";

const times = fc.array(fc.double({ min: 0.002, max: 60_000, noNaN: true }), { minLength: 1, maxLength: 300 });

function histogramOf(values: readonly number[]): Histogram {
  const histogram = new Histogram();
  for (const value of values) histogram.record(value);
  return histogram;
}

describe("percentiles", () => {
  it("are within one in a hundred of the exact ones", () => {
    fc.assert(
      fc.property(times, fc.constantFrom(0.5, 0.9, 0.99, 1), (values, share) => {
        const sorted = values.toSorted((a, b) => a - b);
        const exact = sorted[Math.ceil(share * values.length) - 1] ?? 0;
        const found = histogramOf(values).percentile(share);
        expect(found).toBeGreaterThanOrEqual(exact * 0.9999);
        expect(found).toBeLessThanOrEqual(exact * 1.0101);
      }),
      { numRuns: 300 },
    );
  });

  it("never exceed the longest time", () => {
    const histogram = histogramOf([1, 2, 3.003]);
    expect(histogram.percentile(0.99)).toBe(3.003);
    expect(histogram.summary()).toMatchObject({ max: 3.003, mean: expect.closeTo(2.001, 3) });
  });

  it("of nothing are 0", () => {
    expect(histogramOf([]).summary()).toEqual({ mean: 0, p50: 0, p90: 0, p99: 0, max: 0 });
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

  it("knows the least and the greatest", () => {
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
