import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FIRST_ROWS, pauseAfter, rowsOfNextStep, wasBusy } from "../../../src/tree/sweep-pace.ts";

/** Rows of the steps of a sweep whose longest pieces take so many ms a row, and one wait for the disk. */
function rowsOfSteps(msOfRow: number, diskMs: number, steps = 20): number[] {
  const rows = [FIRST_ROWS];
  while (rows.length < steps) {
    const last = rows.at(-1) ?? 0;
    rows.push(rowsOfNextStep(last, last * msOfRow + diskMs));
  }
  return rows;
}

describe("the pace of a sweep", () => {
  it("makes steps larger on a fast machine and smaller on a slow one, within bounds", () => {
    expect(rowsOfSteps(0.0001, 0.1).at(-1)).toBe(3000);
    expect(rowsOfSteps(0.1, 1).at(-1)).toBe(750);
  });

  it("comes to rest where a piece takes no longer than two of the time that it should", () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0.0001, max: 0.008, noNaN: true }),
        fc.double({ min: 0, max: 2, noNaN: true }),
        (row, disk) => {
          const last = rowsOfSteps(row, disk).slice(-2);
          // One step to try and one to take back, at most.
          expect(Math.min(...last.map((rows) => rows * row + disk))).toBeLessThanOrEqual(8);
        },
      ),
    );
  });

  it("leaves most of the thread to requests that want it, and hardly waits when nobody does", () => {
    expect(pauseAfter(3, true)).toBe(6);
    expect(pauseAfter(3, false)).toBe(1);
  });

  it("does not wait at all after a few rows", () => {
    expect(pauseAfter(0, true)).toBe(0);
    expect(pauseAfter(1, true)).toBe(0);
  });

  it("never waits so long that the sweep does not end", () => {
    expect(pauseAfter(60_000, true)).toBe(10);
  });

  it("takes a pause that ends late for a sign of others", () => {
    expect(wasBusy(12, 13)).toBe(false);
    expect(wasBusy(12, 14)).toBe(true);
    // The clock was set back.
    expect(wasBusy(12, -5000)).toBe(false);
  });
});
