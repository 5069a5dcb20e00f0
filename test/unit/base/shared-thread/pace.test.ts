import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FIRST_PIECE, pauseAfter, rowsOfNextPiece, wasBusy } from "../../../../src/base/shared-thread.ts";

/** Rows of the pieces of a sweep that take so many ms a row. */
function rowsOfPieces(msOfRow: number, pieces = 20): number[] {
  const rows = [FIRST_PIECE];
  while (rows.length < pieces) {
    const last = rows.at(-1) ?? 0;
    rows.push(rowsOfNextPiece(last, last * msOfRow));
  }
  return rows;
}

describe("the pace of a sweep", () => {
  it("makes pieces larger on a fast machine and smaller on a slow one, within bounds", () => {
    expect(rowsOfPieces(0.0001).at(-1)).toBe(400);
    expect(rowsOfPieces(0.1).at(-1)).toBe(100);
  });

  it("settles where a piece takes at most twice its target time", () => {
    fc.assert(
      fc.property(fc.double({ min: 0.0001, max: 0.06, noNaN: true }), (row) => {
        const last = rowsOfPieces(row).slice(-2);
        // One piece to try and one to take back, at most.
        expect(Math.min(...last.map((rows) => rows * row))).toBeLessThanOrEqual(6);
      }),
    );
  });

  it("leaves most of the thread to requests that need it, and hardly waits without any", () => {
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
